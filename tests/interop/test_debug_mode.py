"""Logs of PyTorch's DebugMode, saved by the torch of OPDUMP_TORCH2 (tools/fetch_torch.sh), and damaged ones."""
import json
import os
import pathlib
import re
import subprocess

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
TORCH = os.environ.get("OPDUMP_TORCH2", "")
NET = pathlib.Path(__file__).resolve().parent / "debug_mode_net.py"
real = pytest.mark.skipif(not os.access(TORCH, os.X_OK), reason="no torch from PyPI: tools/fetch_torch.sh")
HEAD = {"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1}


def run(words, directory=None, expect=0, **env):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **env})
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def opdump(*words, expect=0):
    return run([OPDUMP, *words], expect=expect)


def operators(dump):
    done = subprocess.run([OPDUMP, "ls", dump, "--json"], capture_output=True, text=True, check=True)
    return [record for record in map(json.loads, done.stdout.splitlines()) if "operator" in record]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Logs of the network by their names, and recordings of it without DebugMode."""
    root = tmp_path_factory.mktemp("logs")
    words = []
    for name, *options in (("all", "--modules", "--inputs", "--both"), ("wrong", "--modules", "--inputs", "--wrong"),
                           ("plain",), ("calls", "--modules", "--inputs", "--calls"), ("stacks", "--modules", "--stacks"), ("shapes", "--no-hashes")):
        words += ["+", root / f"{name}.json", *options]
    run([TORCH, NET, *words[1:]])
    for name, *options in (("ours",), ("ours_wrong", "--wrong")):
        run([OPDUMP, "run", "-o", root / name, "--steps", "0-1", "--", TORCH, NET, *options])
    return root


@real
def test_every_operator_and_its_tensors(logs):
    """As many operators as torch's own loader finds, with its shapes and hashes."""
    entries = json.loads((logs / "all.json").read_text())["logs"]
    names = [entry["op_name"] for entry in entries if entry["type"] == "op"]
    found = operators(logs / "all.json")
    assert sorted(record["type"] for record in found) == sorted(name.split("::")[1].split(".")[0] for name in names)
    by_name = {(record["operator"], record["step"]): record for record in found}
    slots = {slot["slot"]: slot for slot in by_name["Default/blocks/1/norm/native_batch_norm-op0", 1]["slots"]}
    assert list(slots) == [f"input.{i}" for i in range(5)] + [f"output.{i}" for i in range(3)]
    assert slots["output.0"]["shape"] == [5, 4, 6, 6] and slots["output.0"]["dtype"] == "float32"
    text = opdump("show", logs / "all.json", "Default/head/addmm-op0", "--step", "0")
    entry = next(entry for entry in entries if entry.get("op_name") == "aten::addmm")
    hashes = dict(entry["log"]["items"])["hash"]["items"]
    assert f"L1Norm Value {hashes[0]['value']}" in text and f"hash_tensor {hashes[1]['value']}" in text, text


@real
def test_phases_steps_and_lines(logs):
    found = {(record["operator"], record["step"]): record for record in operators(logs / "stacks.json")}
    assert {step for _, step in found} == {0, 1, 2}  # and what ran after the last one
    assert found["Default/optimizer-Adam/addcdiv_-op0", 1]["phase"] == "optimizer"
    forward, backward = (found[f"Default/{name}-op0", 0] for name in ("stem/convolution", "convolution_backward"))
    assert (forward["phase"], backward["phase"]) == ("forward", "backward")
    lines = NET.read_text().splitlines()
    stem = next(n for n, line in enumerate(lines, 1) if "self.stem(images)" in line)
    assert forward["source"] == f"{NET}:{stem}"
    assert "self.norm(self.conv(x))" in lines[int(backward["source"].rpartition(":")[2]) - 1]


@real
@pytest.mark.parametrize("golden, actual, operator", [
    ("all.json", "wrong.json", "Default/blocks/1/norm/native_batch_norm-op0"),
    ("wrong.json", "plain.json", "Default/blocks/1/norm/native_batch_norm-op0"), ("wrong.json", "ours", "Default/blocks/1/norm/native_batch_norm-op0"),
    ("ours", "wrong.json", "Default/blocks-Sequential/1-Block/norm-BatchNorm2d/native_batch_norm-op0"),
    ("ours", "ours_wrong", "Default/blocks-Sequential/1-Block/norm-BatchNorm2d/native_batch_norm-op0"),
    ("ours_wrong", "plain.json", "Default/blocks-Sequential/1-Block/norm-BatchNorm2d/native_batch_norm-op0"),
    ("all.json", "ours_wrong", "Default/blocks/1/norm/native_batch_norm-op0"),
    ("stacks.json", "ours_wrong", "Default/blocks/1/norm/native_batch_norm-op0")])
def test_the_wrong_operator_is_named(logs, golden, actual, operator):
    text = opdump("compare", logs / golden, logs / actual, expect=1)
    line = re.search(rf"first bad operator: {operator} \(forward, step 0\).* — (.*) is (\S+) in golden and (\S+) in actual, ", text)
    is_of_logs = golden.endswith(".json") and actual.endswith(".json")
    values = ("0.3", "1e-05") if "wrong" in golden else ("1e-05", "0.3")
    assert line and line.groups() == ("argument 7" if is_of_logs else "eps", *values), text


@real
@pytest.mark.parametrize("golden, actual, operators", [
    ("all.json", "all.json", 377), ("all.json", "plain.json", 377), ("plain.json", "stacks.json", 377), ("calls.json", "all.json", 377),
    ("ours", "all.json", 353), ("all.json", "ours", 353), ("ours", "plain.json", 353), ("stacks.json", "ours", 353), ("ours", "calls.json", 353)])
def test_equal_runs_are_equal(logs, golden, actual, operators):
    text = opdump("compare", logs / golden, logs / actual)
    assert f"no difference: {operators} operators" in text, text


@real
def test_pairs_of_a_log_and_a_recording(logs):
    """What is paired is the same call: its type is, and so is the norm of every output that both sides have."""
    text = run([OPDUMP, "compare", logs / "ours", logs / "all.json", "--json", "--all"])
    slots = [slot for slot in map(json.loads, text.splitlines()) if slot["record"] == "slot" and "actual_operator" in slot]
    types = {tuple(name.rpartition("/")[2].rpartition("-op")[0].rstrip("_") for name in (slot["operator"], slot["actual_operator"]))
             for slot in slots}
    assert len(types) > 20 and all(golden == actual for golden, actual in types), types
    assert sum(slot["verdict"] == "match" for slot in slots) > 200


@real
def test_without_hashes_nothing_is_compared(logs):
    assert "nothing compared: " in opdump("compare", logs / "shapes.json", logs / "ours", expect=3)


@real
@pytest.mark.nightly
def test_statistics_of_every_kind(tmp_path):
    """The norm and the hash of torch are those that opdump computes of the tensors."""
    (tmp_path / "kinds.py").write_text("""
import sys, torch
from torch.utils._debug_mode import DebugMode
torch.manual_seed(3)
tensors = [torch.randn(3, 50).to(dtype) for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64)]
tensors += [torch.randint(-100, 100, (70,)).to(dtype) for dtype in (torch.int8, torch.int32, torch.uint8, torch.bool)]
tensors += [torch.randint(-2**62, 2**62, (70,)), torch.randn(4, 6).t(), torch.tensor([1.0, float("nan"), float("-inf")]),
            torch.tensor([2.0, float("-inf")]), torch.zeros(0), torch.tensor(3.5)]

def work():
    for tensor in tensors:
        torch.clone(tensor)

if len(sys.argv) == 1:
    work()
else:
    with DebugMode() as mode, DebugMode.log_tensor_hashes(hash_fn=sys.argv[2].split(","), hash_inputs=True):
        work()
    DebugMode.save_logs(mode.logs, sys.argv[1])
""")
    run([OPDUMP, "run", "-o", "ours", "--", TORCH, "kinds.py"], tmp_path)
    for functions in ("norm", "hash_tensor", "norm,hash_tensor"):
        run([TORCH, "kinds.py", f"{functions}.json", functions], tmp_path)
        text = run([OPDUMP, "compare", "ours", f"{functions}.json"], tmp_path)
        assert "no difference: " in text and "compared 26 of 26 tensors" in text, text


@real
@pytest.mark.nightly
def test_compiled_regions(tmp_path):
    """With DebugMode's interpreter: modules of the backward pass are named as forward ones, or not at all."""
    (tmp_path / "net.py").write_text("""
import sys, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
x = torch.arange(12.0).reshape(3, 4)
if len(sys.argv) == 1:
    net(x).sum().backward()
else:
    from torch.utils._debug_mode import DebugMode
    net[2].weight.data *= float(sys.argv[2])
    compiled = torch.compile(net, backend="aot_eager")
    with DebugMode(record_nn_module=True, run_compile_with_interpreter=True) as mode, DebugMode.log_tensor_hashes(hash_inputs=True):
        compiled(x).sum().backward()
    DebugMode.save_logs(mode.logs, sys.argv[1])
""")
    run([OPDUMP, "run", "-o", "ours", "--", TORCH, "net.py"], tmp_path)
    for name, factor, expect in (("same.json", 1, 0), ("other.json", 2, 1)):
        run([TORCH, "net.py", name, factor], tmp_path)
        found = operators(tmp_path / name)
        assert {record["step"] for record in found} == {0} and "Default/2/addmm-op0" in {record["operator"] for record in found}
        text = run([OPDUMP, "compare", "ours", name], tmp_path, expect)
        line = "no difference: " if expect == 0 else "first bad operator: Default/2-Linear/addmm-op0 "
        assert line in text, text


@real
@pytest.mark.nightly
def test_ranks_and_dtensors(tmp_path):
    (tmp_path / "mesh.py").write_text("""
import torch
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
from torch.utils._debug_mode import DebugMode
torch.distributed.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
torch.manual_seed(0)
left, right = (distribute_tensor(torch.rand(8, 8), mesh, [Shard(0)]) for _ in range(2))
with DebugMode() as mode, DebugMode.log_tensor_hashes(hash_inputs=True):
    torch.mm(left, right).sum().full_tensor()
DebugMode.save_logs(mode.logs, f"logs/rank_{torch.distributed.get_rank()}.json")
""")
    (tmp_path / "logs").mkdir()
    run([TORCH, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "mesh.py"], tmp_path)
    found = operators(tmp_path / "logs")
    types = [record["type"] for record in found if record["rank"] == 0]
    assert {record["rank"] for record in found} == {0, 1} and types.count("mm") == 1 and types.count("sum") == 1
    # What a collective gives is there when the program has waited for it.
    gathered = next(record for record in found if record["type"] == "_c10d_functional_all_gather_into_tensor")
    waited = next(record for record in found if record["type"] == "_c10d_functional_wait_tensor")
    known = {(record["type"], slot["slot"]): "no hash" not in slot.get("reason", "") for record in (gathered, waited) for slot in record["slots"]}
    assert sorted(known.values()) == [False, False, True, True], known
    assert "2 ranks" in opdump("ls", tmp_path / "logs")
    assert "no difference" in opdump("compare", tmp_path / "logs", tmp_path / "logs")


# ---- Without torch: files as it writes them, and damaged ones.


def op(name, arguments, output, value, depth=1, **more):
    log = {"type": "dict", "items": [["hash", {"type": "scalar", "value": value}]]}
    return {"call_depth": depth, "log": log, "output_str": f"  ->  {output}", "stack_trace": None, "fwd_stack_trace": None,
            "type": "op", "op_name": name, "args_str": arguments, "kwargs_str": "", **more}


def region(tag, header="nn.Mod", depth=1):
    return {"call_depth": depth, "log": None, "output_str": None, "type": "annotate", "tag": tag, "header": header}


def write(path, entries, **head):
    path.write_text(json.dumps({**HEAD, **head, "logs": entries}) + "\n")
    return path


RELU = op("aten::relu", "t: f32[2]", "t: f32[2]", 1.5)


def test_a_loop_without_an_optimizer_is_of_steps(tmp_path):
    step = [RELU, region("Net"), region("Net.act", depth=2), op("aten::relu", "t: f32[2]", "t: f32[2]", 1.0, 3), region("Loss")]
    found = operators(write(tmp_path / "log.json", step * 2))
    assert [(record["operator"], record["step"]) for record in found] == [
        ("Default/relu-op0", 0), ("Default/act/relu-op0", 0), ("Default/relu-op1", 0), ("Default/act/relu-op0", 1)]


def test_files_of_a_folder(tmp_path):
    for name in ("a.json", "b.json", "debug.json"):
        write(tmp_path / name, [RELU])
    (tmp_path / "other.json").write_text('{"format": "another"}')
    (tmp_path / "link.json").symlink_to("a.json")
    done = subprocess.run([OPDUMP, "ls", tmp_path], capture_output=True, text=True)
    assert re.findall(r"^  (\S+)  \(relu", done.stdout, re.M) == [f"{name}/Default/relu-op0" for name in ("a", "b", "debug")]


@pytest.mark.parametrize("dtype, golden, actual, is_equal", [
    ("f32", 1000.0, 1000.001, True), ("f32", 1000.0, 1000.1, False), ("i64", 1000.0, 1001.0, False), ("bf16", 1.0, 1.01, True),
    ("f32", 9007199254740993, 9007199254740992, False)])
def test_norms_have_a_tolerance(tmp_path, dtype, golden, actual, is_equal):
    for name, value in (("golden", golden), ("actual", actual)):
        write(tmp_path / name, [op("aten::relu", f"t: {dtype}[2]", f"t: {dtype}[2]", value)])
    text = opdump("compare", tmp_path / "golden", tmp_path / "actual", expect=0 if is_equal else 1)
    assert ("no difference" in text) == is_equal, text


def test_numbers_of_the_program(tmp_path):
    """What the text of arguments says; what it does not say is no difference."""
    for name, scale in (("golden", "0.5"), ("actual", "0.25")):
        arguments = f"t: f32[2], {scale}, [1, 1], 'text', device{name}"
        write(tmp_path / name, [op("aten::mul.Tensor", arguments, "t: f32[2]", float(scale), kwargs_str=f", alpha=1, to={name}")])
    text = opdump("compare", tmp_path / "golden", tmp_path / "actual", expect=1)
    assert "— argument 1 is 0.5 in golden and 0.25 in actual, output differs" in text, text


@pytest.mark.parametrize("entries, message", [
    ([RELU, 3, {"type": "op"}], r"2 damaged lines, logs\[1\]: no type"),
    ([RELU, {**RELU, "call_depth": "1"}], r"1 damaged line, logs\[1\]: no call_depth"),
    ([RELU, {**RELU, "args_str": None}], r"1 damaged line, logs\[1\]: args_str is no text"),
    ([RELU, {**RELU, "op_name": "x" * 600}], r"1 damaged line, logs\[1\]: op_name is too long"),
    ([RELU, {**RELU, "type": "new"}], r'1 line not read, logs\[1\]: the type "new" is not known')])
def test_odd_lines_are_problems(tmp_path, entries, message):
    done = subprocess.run([OPDUMP, "ls", write(tmp_path / "log.json", entries)], capture_output=True, text=True)
    assert "Default/relu-op0" in done.stdout and re.search(message, done.stdout + done.stderr), done


@pytest.mark.parametrize("text, message", [
    (json.dumps({**HEAD, "version": 2, "logs": [RELU]}), "version is 2; expected 1"),
    (json.dumps({**HEAD, "logs": {}}), 'no array "logs" in it'),
    (json.dumps({**HEAD, "logs": [RELU]})[:-20], "1:[0-9]+: not JSON: .*unexpected end"),
    (json.dumps(HEAD)[:-1] + ', "logs": ' + "[" * 100000, "not JSON"),
    (json.dumps(HEAD)[:-1] + ', "logs": [{"call_depth": 1e999', "too large for a double"),
    (json.dumps(HEAD)[:-1], "not JSON")])
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "log.json").write_text(text)
    done = subprocess.run([OPDUMP, "ls", tmp_path / "log.json"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (2, 3) and re.search(message, done.stdout + done.stderr), done


def test_hostile_names_and_shapes(tmp_path):
    name = "aten::\x1b[31mrelu\n\u202e\0"
    entries = [region("Net\x1b[2J"), op(name, "t: f32[9223372036854775807, 9223372036854775807]", "t: f32[99999999999999999999]", 1.0, 2),
               *[op(name, "[" * 5000, "('t: f32[2]', " * 5000, float("1e308"), 2)] * 3]
    text = opdump("ls", write(tmp_path / "log.json", entries))
    assert "\x1b[" not in text and "\u202e" not in text and "\\x1b[31mrelu" in text
    assert "no difference" in opdump("compare", tmp_path / "log.json", tmp_path / "log.json")


def test_large_logs(tmp_path):
    """Many operators, many regions in one another, an operator of many tensors: within seconds, and with little memory."""
    tensors = ", ".join(["t: f32[2]"] * 50000)
    entries = [region("a" * 500, "record function", depth) for depth in range(20000)]
    entries += [op("aten::add", "t: f32[2]", "t: f32[2]", 1.0, 20001)] * 50000 + [op("aten::_foreach_add", f"[{tensors}]", "None", 1.0)]
    path = write(tmp_path / "log.json", entries)
    limited = f"ulimit -v 2000000; exec {OPDUMP} ls --tree {path}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "50001 operators" in done.stdout, done
