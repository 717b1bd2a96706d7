"""Dumps of msprobe, made by itself with the torch of PyPI, and damaged ones; results of Polygraphy; files of SGLang's
dumper, made by itself and in the form of an older release. OPDUMP_MSPROBE is a Python with msprobe and Polygraphy
(tools/fetch_msprobe.sh), OPDUMP_SGLANG one with SGLang's dumper (tools/fetch_sglang.sh)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
MSPROBE = os.environ.get("OPDUMP_MSPROBE", "")
NET = pathlib.Path(__file__).resolve().parent / "msprobe_net.py"
SGLANG = os.environ.get("OPDUMP_SGLANG", "")
SGLANG_NET = NET.parent / "sglang_net.py"
real_sglang = pytest.mark.skipif(not os.access(SGLANG, os.X_OK), reason="no SGLang from PyPI: tools/fetch_sglang.sh")
real = pytest.mark.skipif(not os.access(MSPROBE, os.X_OK), reason="no msprobe from PyPI: tools/fetch_msprobe.sh")


def run(words, directory=None, expect=0, **env):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **env})
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def opdump(*words, expect=0):
    return run([OPDUMP, *words], expect=expect)


def records(*words):
    return [json.loads(line) for line in opdump(*words, "--json").splitlines()]


def values(dump, *options):
    """The elements of the slot that `options` select."""
    text = records("show", dump, *options, "--values", "100000")[0]["values"]
    return np.array(text.strip("[]").split(), "f4")


def operators(dump):
    return {record["operator"]: record for record in records("ls", dump) if "operator" in record and record["step"] == 0}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """What msprobe writes of the network, by name."""
    root = tmp_path_factory.mktemp("msprobe")

    def dump(name, task, level, *options, **settings):
        settings = {"scope": [], "list": [], "data_mode": ["all"], **settings}
        config = {"task": task, "dump_path": str(root / name), "rank": [], "step": [], "level": level, task: settings}
        (root / name).mkdir()
        (root / f"{name}.json").write_text(json.dumps(config))
        run([MSPROBE, NET, root / f"{name}.json", *options])
        return root / name

    return {"mix": dump("mix", "tensor", "mix"), "wrong": dump("wrong", "tensor", "mix", "--wrong"),
            "modules": dump("modules", "tensor", "L0"), "calls": dump("calls", "tensor", "L1"),
            "statistics": dump("statistics", "statistics", "mix", summary_mode="statistics"),
            "hashes": dump("hashes", "statistics", "L1", summary_mode="md5")}


@real
def test_every_tensor_has_its_name(dumps):
    """What dump.json names is what ls names, and the values are torch's."""
    rank = next((dumps["mix"] / "step0").iterdir())
    calls = json.loads((rank / "dump.json").read_text())["data"]
    found = operators(dumps["mix"])
    assert {name.rpartition("/")[2] for name in found} == set(calls)
    files = {path.name for path in (rank / "dump_tensor_data").iterdir()}
    assert {pathlib.Path(slot["file"]).name for record in found.values() for slot in record["slots"]} == files
    load = "import sys, torch, numpy; numpy.save(sys.argv[2], torch.load(sys.argv[1], weights_only=True).numpy())"
    for name, slot, file in (("conv1/Functional.conv2d.0.forward", "output.0", "Functional.conv2d.0.forward.output.0"),
                             ("head/Module.head.Linear.forward.0", "input.parameters.weight",
                              "Module.head.Linear.forward.0.parameters.weight"),
                             ("norm/Module.norm.BatchNorm2d.parameters_grad.0", "output.bias",
                              "Module.norm.BatchNorm2d.parameters_grad.0.bias")):
        run([MSPROBE, "-c", load, rank / "dump_tensor_data" / f"{file}.pt", rank / "array.npy"])
        expected = np.load(rank / "array.npy")
        (rank / "array.npy").unlink()
        np.testing.assert_array_equal(values(dumps["mix"], "--op", name, "--slot", slot, "--step", "0"), expected.ravel())


@real
def test_phases_modules_and_lines(dumps):
    found = operators(dumps["mix"])
    gelu = found["Functional.gelu.0.backward"]
    assert gelu["phase"] == "backward" and gelu["type"] == "gelu"
    line = next(n for n, text in enumerate(NET.read_text().splitlines(), 1) if "functional.gelu" in text)
    assert gelu["source"] == f"{NET}:{line}"
    tree = opdump("ls", dumps["mix"], "--tree")
    for module in ("block", "conv1", "head", "norm"):
        assert re.search(rf"^{module} ", tree, re.M), tree
    assert "forward" in opdump("show", dumps["mix"], "block/2/Functional.linear.0.forward", "--step", "0")


@real
@pytest.mark.parametrize("name", ["modules", "calls", "statistics", "hashes"])
def test_every_task_and_level(dumps, name):
    """Equal runs are equal, whatever of them was dumped: tensors against statistics, with and without modules."""
    assert "no difference" in opdump("compare", dumps[name], dumps[name])
    if name == "modules":  # which it knows nothing else of
        text = opdump("compare", dumps[name], dumps["mix"], expect=1)
        assert "compared 86 of 86 tensors in 36 of 36 operators" in text and "own_error" not in text, text
    else:
        assert "no difference" in opdump("compare", dumps[name], dumps["mix"])


@real
def test_the_wrong_operator_is_named(dumps):
    text = opdump("compare", dumps["mix"], dumps["wrong"], expect=1)
    assert re.search(r"first bad operator: norm/Functional\.batch_norm\.0\.forward .*msprobe_net\.py:\d+ ", text), text
    assert "argument 7 is 1e-05 in golden and 0.3 in actual" in text, text
    text = opdump("compare", dumps["statistics"], dumps["wrong"], expect=1)
    assert "first bad operator: norm/Functional.batch_norm.0.forward" in text, text


@real
def test_saved_variables(tmp_path):
    """PrecisionDebugger.save: values of the program, and their gradients."""
    config = {"task": "tensor", "dump_path": str(tmp_path / "dump"), "rank": [], "step": [], "level": "debug",
              "tensor": {"scope": [], "list": [], "data_mode": ["all"]}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "dump").mkdir()
    run([MSPROBE, "-c", """
import sys, torch
from msprobe.pytorch import PrecisionDebugger
PrecisionDebugger(config_path=sys.argv[1])
hidden = torch.arange(3.0, requires_grad=True) * 2
PrecisionDebugger.save(hidden, "hidden", save_backward=True)
PrecisionDebugger.save({"a": [hidden, hidden + 1]}, "pair", save_backward=False)
hidden.sum().backward()
PrecisionDebugger.step()
""", tmp_path / "config.json"])
    found = operators(tmp_path / "dump")
    assert {name: [slot["slot"] for slot in record["slots"]] for name, record in found.items()} == {
        "hidden.0.debug": ["output.0"], "hidden_grad.0.debug": ["output.0"], "pair.0.debug": ["output.a.0", "output.a.1"]}
    assert list(values(tmp_path / "dump", "--op", "pair.0.debug", "--slot", "output.a.1")) == [1, 3, 5]


@real
def test_ranks(tmp_path):
    config = {"task": "tensor", "dump_path": str(tmp_path / "dump"), "rank": [], "step": [], "level": "L1",
              "tensor": {"scope": [], "list": [], "data_mode": ["all"]}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "dump").mkdir()
    (tmp_path / "train.py").write_text("""
import sys, torch
from torch import distributed
from msprobe.pytorch import PrecisionDebugger
distributed.init_process_group("gloo")
debugger = PrecisionDebugger(config_path=sys.argv[1])
model = torch.nn.Linear(3, 2)
debugger.start(model=model)
model(torch.ones(1, 3) * (distributed.get_rank() + 1)).sum().backward()
debugger.stop()
debugger.step()
""")
    run([MSPROBE, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", tmp_path / "train.py",
         tmp_path / "config.json"])
    assert {path.name for path in (tmp_path / "dump/step0").iterdir()} == {"rank0", "rank1"}
    assert "2 ranks, 1 graph, step 0: " in opdump("ls", tmp_path / "dump")
    for rank in range(2):
        found = values(tmp_path / "dump", "--op", "Functional.linear.0.forward", "--slot", "input.0", "--rank", rank)
        assert list(found) == [rank + 1] * 3


@real
def test_against_a_recording_of_ours(dumps, tmp_path):
    """The same program, recorded by opdump with the system's torch."""
    pytest.importorskip("torch")
    run([OPDUMP, "run", "-o", tmp_path / "ours", "--steps", "0-1", "--", sys.executable, NET, "--wrong"])
    text = opdump("compare", "--pair-by", "operators", dumps["calls"], tmp_path / "ours", expect=1)
    assert "first bad operator: Functional.batch_norm.0.forward" in text, text
    run([OPDUMP, "run", "-o", tmp_path / "equal", "--steps", "0-1", "--", MSPROBE, NET])
    assert "--pair-by operators pairs them by what they compute" in opdump("compare", dumps["mix"], tmp_path / "equal", expect=3)
    # Calls backward and gradients of parameters are no operators forward.
    text = opdump("compare", "--pair-by", "operators", dumps["mix"], tmp_path / "equal")
    assert re.search(r"no difference.*: \d\d+ operators", text), text


@real
def test_a_file_that_is_lost_is_a_problem(dumps, tmp_path):
    shutil.copytree(dumps["calls"], tmp_path / "torn")
    files = sorted((tmp_path / "torn").rglob("*linear.0.forward*.pt"))
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:700])
    done = subprocess.run([OPDUMP, "ls", tmp_path / "torn"], capture_output=True, text=True)
    assert f"{files[0].name}: missing file" in done.stdout + done.stderr
    assert f"{files[1].name}: torn" in done.stdout + done.stderr


# ---- Damaged files.

TENSOR = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": float("nan"), "Mean": None}


def write_dump(directory, data):
    rank = directory / "step3" / "rank5"
    (rank / "dump_tensor_data").mkdir(parents=True)
    (rank / "dump.json").write_text(data if isinstance(data, str) else json.dumps({"task": "tensor", "data": data}))
    return rank


@pytest.mark.parametrize("checksums", [("12345678", "12345679"), ("0x1234567812345678", "0x1234567812345679")])
def test_checksums_are_no_numbers(tmp_path, checksums):
    for name, checksum in zip(("golden", "actual"), checksums):
        tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "md5": checksum}
        write_dump(tmp_path / name, {"Functional.relu.0.forward": {"output": [tensor]}})
    assert "no difference" in opdump("compare", tmp_path / "golden", tmp_path / "golden")
    assert "first bad operator: Functional.relu.0.forward" in opdump("compare", tmp_path / "golden", tmp_path / "actual", expect=1)


@pytest.mark.parametrize("name", ["../../secret.pt", "/etc/passwd", "..", "link.pt", "sub/x.pt", "a\0b.pt"])
def test_nothing_outside_of_the_dump_is_read(tmp_path, name):
    (tmp_path / "secret.pt").write_bytes(b"x")
    rank = write_dump(tmp_path / "dump", {"Functional.relu.0.forward": {"output": [{**TENSOR, "data_name": name}]}})
    (rank / "dump_tensor_data" / "link.pt").symlink_to(tmp_path / "secret.pt")
    done = subprocess.run([OPDUMP, "ls", tmp_path / "dump"], capture_output=True, text=True)
    assert "not read" in done.stdout + done.stderr
    assert "rank 5, graph 0, step 3" in done.stdout and "statistics only" in done.stdout


@pytest.mark.parametrize("data", ["", "{", "[]", '{"data": []}', '{"data": {"a": ' + "[" * 100000, "\0", '{"data": {"a": 1e999}}',
                                  {"a": 1}, {"a": {"output": [{"dtype": 1, "shape": {}}]}},
                                  {"a.b": {"input_args": [{**TENSOR, "shape": [-1, 2**62]}]}}])
def test_odd_json_is_an_error(tmp_path, data):
    write_dump(tmp_path, data)
    done = subprocess.run([OPDUMP, "ls", tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 3), done
    assert re.search("JSON|damaged entries|no object", done.stdout + done.stderr), done


# ---- Polygraphy and SGLang.


@real
def test_results_of_polygraphy(tmp_path):
    program = """
import sys
import numpy as np
from polygraphy.comparator import RunResults
results = RunResults()
outputs = [{"conv1": np.arange(6, dtype="f4").reshape(2, 3) + i, "scores": np.array([i], "i8"),
            "/3/Split_output_0": np.array([[1.5, -2]], "f2"), "/3/Split_output_1": np.ones(3, "?"), "empty": np.zeros((0, 2), "f8")} for i in range(2)]
if "wrong" in sys.argv:
    outputs[1]["conv1"][1, 2] += 1
results.add(outputs, runner_name="onnxrt-runner-N0-11/24/26-03:00:00")
results.save(sys.argv[1])
for index, single in enumerate(results.split()):
    single.save(f"{sys.argv[2]}/{index:010d}.json")
"""
    (tmp_path / "steps").mkdir()
    run([MSPROBE, "-c", program, tmp_path / "golden.json", tmp_path / "steps"])
    assert "steps 0-1: 4 operators in 8 runs, 10 tensors" in opdump("ls", tmp_path / "golden.json")
    assert [slot["slot"] for slot in operators(tmp_path / "golden.json")["/3/Split"]["slots"]] == ["output.0", "output.1"]
    assert list(values(tmp_path / "golden.json", "--op", "conv1", "--step", "1")) == [1, 2, 3, 4, 5, 6]
    assert "no difference" in opdump("compare", tmp_path / "golden.json", tmp_path / "steps")
    run([MSPROBE, "-c", program, tmp_path / "wrong.json", tmp_path / "steps", "wrong"])
    text = opdump("compare", tmp_path / "golden.json", tmp_path / "wrong.json", expect=1)
    assert "first bad operator: conv1 (step 1)" in text and "1 of 6" in text, text


def sglang(directory, *options, launcher=(), **env):
    run([SGLANG, *launcher, SGLANG_NET, *options], **env, DUMPER_ENABLE="1", DUMPER_DIR=str(directory), DUMPER_ENABLE_GRAD="1",
        DUMPER_NON_INTRUSIVE_MODE="all", DUMPER_ENABLE_MODEL_VALUE="1", DUMPER_ENABLE_MODEL_GRAD="1")


@real_sglang
def test_dumps_of_sglang(tmp_path):
    """Values, gradients, parameters: every file is read, also those whose elements do not lie row by row."""
    sglang(tmp_path / "golden")
    sglang(tmp_path / "actual")
    sglang(tmp_path / "wrong", "--wrong")
    files = sorted((tmp_path / "golden").glob("dump_*/*.pt"))
    text = opdump("ls", tmp_path / "golden")
    assert f"1 rank, 1 graph, steps 0-2: 54 operators in {len(files)} runs, {len(files)} tensors" in text, text
    assert "problem" not in text and "no data" not in text, text
    load = """
import sys, torch, numpy
numpy.savez(sys.argv[1], *(torch.load(file, weights_only=False)["value"].detach().numpy() for file in sys.argv[2:]))
"""
    run([SGLANG, "-c", load, tmp_path / "values.npz", *files])
    slots = [slot for record in records("ls", tmp_path / "golden") if "operator" in record for slot in record["slots"]]
    assert sorted(slot["file"] for slot in slots) == [str(file) for file in files]
    opdump("convert", tmp_path / "golden", "-o", tmp_path / "converted")
    theirs = np.load(tmp_path / "values.npz").values()
    ours = map(np.load, (tmp_path / "converted").rglob("*.npy"))
    assert sorted(array.tobytes() for array in theirs) == sorted(array.tobytes() for array in ours)
    assert f"compared {len(files)} of {len(files)} tensors" in opdump("compare", tmp_path / "golden", tmp_path / "actual")
    text = opdump("compare", tmp_path / "golden", tmp_path / "wrong", expect=1)
    assert "first bad operator: layer_id=1/non_intrusive__layers.1.activation.output" in text, text


@real_sglang
def test_ranks_of_sglang(tmp_path):
    """With a name of the run: to agree on one of its own, the dumper needs a GPU."""
    sglang(tmp_path, launcher=["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"], DUMPER_EXP_NAME="run")
    assert "2 ranks, 1 graph, steps 0-2: 54 operators in 184 runs" in opdump("ls", tmp_path / "run")


def test_files_of_sglang(tmp_path):
    """Written as sglang/srt/debug_utils/dumper.py of two releases writes them."""
    torch = pytest.importorskip("torch")

    def save(folder, value, **tags):
        (tmp_path / folder).mkdir(exist_ok=True)
        torch.save(value, str(tmp_path / folder / ("___".join(f"{k}={v}" for k, v in tags.items()) + ".pt")))

    for step in range(2):
        for rank in range(2):
            hidden = torch.arange(4, dtype=torch.bfloat16).reshape(2, 2) + step + rank
            for index, layer in enumerate((0, 1)):
                tags = {"name": "mlp", "layer_id": layer}
                number = 10 * step + index
                save("older", hidden, forward_pass_id=step, rank=rank, name="mlp", dump_index=number, layer_id=layer)
                newer = {"step": step, "rank": rank, "dump_index": number, "name": "mlp", "recompute_status": "disabled"}
                save("newer", {"value": hidden, "meta": {**tags, "world_size": 2}}, **newer, layer_id=layer)
    assert "2 ranks, 1 graph, steps 0-1: 2 operators in 8 runs, 8 tensors" in opdump("ls", tmp_path / "older")
    assert set(operators(tmp_path / "newer")) == {"layer_id=0/mlp", "layer_id=1/mlp"}
    assert "no difference" in opdump("compare", tmp_path / "older", tmp_path / "newer")


def test_files_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    torch.save({"model": model.state_dict(), "step": 3, "extra": [torch.arange(4)[1:3], torch.arange(6.0).reshape(2, 3).t(),
                                                                torch.tensor([[1.0], [2.0]]).expand(2, 3)]}, tmp_path / "model.pt")
    found = {record["operator"]: record["slots"][0] for record in records("ls", tmp_path / "model.pt") if "operator" in record}
    assert set(found) == {f"model.{key}" for key in model.state_dict()} | {"extra.0", "extra.1", "extra.2"}
    assert list(values(tmp_path / "model.pt", "--op", "extra.1")) == [0, 3, 1, 4, 2, 5]
    assert list(values(tmp_path / "model.pt", "--op", "extra.2")) == [1, 1, 1, 2, 2, 2]
    assert list(values(tmp_path / "model.pt", "--op", "extra.0")) == [1, 2]
    torch.save(torch.ones(2), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert "before 1.6" in subprocess.run([OPDUMP, "ls", tmp_path / "old.pt"], capture_output=True, text=True).stderr
