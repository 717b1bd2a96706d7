"""Dumps that the real MindSpore made on the CPU: opdump opens them, compares them, and pairs them with PyTorch's."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PYTHON = os.environ["OPDUMP_MINDSPORE"]  # an interpreter with MindSpore
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no MindSpore from PyPI: tools/fetch_mindspore.sh")


def run(words, directory, expect=0, **env):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=900,
                          env={**os.environ, **env})
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def train(directory, name, env=None, program="train", **settings):
    common = {"op_debug_mode": 0, "dump_mode": 0, "path": str(directory / name), "net_name": "net", "iteration": "0|2",
              "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0], **settings}
    config = directory / f"{name}.json"
    config.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}}))
    return run([PYTHON, PROGRAMS / f"{program}.py"], directory, MINDSPORE_DUMP_CONFIG=str(config),
               MS_DIAGNOSTIC_DATA_PATH=str(directory / "diagnostics"), **(env or {}))


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """With two dumps of equal programs."""
    made = tmp_path_factory.mktemp("mindspore")
    assert train(made, "golden") == train(made, "actual")
    return made


def operators(directory, dump, *options):
    lines = [json.loads(line) for line in run([OPDUMP, "ls", dump, "--json", *options], directory).splitlines()]
    return [line for line in lines if "operator" in line]


def test_every_file_is_a_tensor(directory):
    files = list((directory / "golden").rglob("*.npy"))
    table = run([OPDUMP, "ls", "golden"], directory)
    assert re.search(r"1 rank, 1 graph, steps 0,2: \d+ operators in \d+ runs", table), table
    assert int(re.search(r"(\d+) tensors", table).group(1)) == len([file for file in files if ".Parameter." not in file.name]), table
    assert "problem" not in table


def test_values_and_types(directory):
    file = next((directory / "golden/rank_0/net/0/2").glob("ReLU.*.output.0.*.npy"))
    text = run([OPDUMP, "show", "golden", "relu-ReLU_ReLU-op0", "--step", "2", "--slot", "output.0"], directory)
    values = np.load(file)
    assert f"float32 ({','.join(map(str, values.shape))})" in text
    assert f"Zero Count {np.count_nonzero(values == 0)}" in text
    assert "flatten-Flatten/Flatten-op0 input.0" in text  # the graph that MindSpore saved beside it


def test_names_and_lines_of_the_graph(directory):
    """The files have no '/' and no lines; the graph beside them has."""
    table = run([OPDUMP, "ls", "golden", "--tree"], directory)
    assert re.search(r"^ *_backbone-Net .*\n +conv-Conv2d ", table, re.M), table
    found = {entry["operator"]: entry for entry in operators(directory, "golden", "--step", "0")}
    conv = found["Default/network-WithLossCell/_backbone-Net/conv-Conv2d/Conv2D-op0"]
    line = 1 + (PROGRAMS / "train.py").read_text().splitlines().index("        return self.fc(self.flatten(self.relu(self.conv(x))))")
    assert conv["source"].endswith(f"train.py:{line}"), conv
    assert not [name for name in found if "Default_" in name], found.keys()


def test_equal_programs_compare_as_equal(directory):
    text = run([OPDUMP, "compare", "golden", "actual"], directory)
    assert "no difference" in text and "only in" not in text, text


def test_a_changed_file_is_found(directory, tmp_path):
    run(["cp", "-r", directory / "golden", tmp_path / "changed"], directory)
    file = next((tmp_path / "changed/rank_0/net/0/0").glob("MatMul.Default_*fc-Dense_MatMul-op0.*.output.0.*.npy"))
    file.chmod(0o600)
    np.save(file, np.load(file) + 1)
    text = run([OPDUMP, "compare", "golden", tmp_path / "changed"], directory, expect=1)
    assert "first bad operator: Default/network-WithLossCell/_backbone-Net/fc-Dense/MatMul-op0 (forward, step 0) at " in text, text


def test_graphs_and_order(directory):
    graph = next((directory / "golden/rank_0/graphs").glob("*.ir"))
    assert re.search(r"graph 0: \d+ operators, \d+ parameters", run([OPDUMP, "ir", graph], directory))


def test_graphs_that_mindspore_saves_itself(tmp_path):
    """MS_DEV_SAVE_GRAPHS=2: the way from a line of the program to the files where the dump has no graph, as with O2."""
    train(tmp_path, "dump", env={"MS_DEV_SAVE_GRAPHS": "2", "MS_DEV_SAVE_GRAPHS_PATH": str(tmp_path / "ir")})
    shutil.rmtree(tmp_path / "dump/rank_0/graphs")
    (final,) = (tmp_path / "ir").glob("trace_code_graph_*")
    assert re.search(r"graph 0: \d+ operators, \d+ parameters", run([OPDUMP, "ir", final], tmp_path))
    for stage in (tmp_path / "ir").glob("*.ir"):
        assert "operator" in run([OPDUMP, "ir", stage], tmp_path), stage
    line = 1 + (PROGRAMS / "train.py").read_text().splitlines().index("        return self.fc(self.flatten(self.relu(self.conv(x))))")
    lines = [json.loads(text) for text in run([OPDUMP, "ir", final, "--source", f"train.py:{line}", "--json"], tmp_path).splitlines()]
    names = {entry["operator"] for entry in lines if "operator" in entry}
    conv = "Default/network-WithLossCell/_backbone-Net/conv-Conv2d/Conv2D-op0"
    assert conv in names, names
    done = run([OPDUMP, "ir", "dump", "--graph", final, "--source", f"train.py:{line}", "--json"], tmp_path)
    found = {entry["operator"]: entry for entry in map(json.loads, done.splitlines())}
    files = [file["file"] for slot in found[conv]["slots"] for file in slot["files"]]
    assert len(files) >= 6 and all(".Default_network-WithLossCell__backbone-Net_conv-Conv2d_" in file for file in files), found[conv]


@pytest.mark.parametrize("fault", [False, True])
def test_against_torch(directory, fault):
    """The same network with the same weights: forward and backward operators are paired, and a fault is found."""
    name = "faulty" if fault else "torch"
    run([OPDUMP, "run", "-o", name, "--", "/usr/bin/python3", PROGRAMS / "train_torch.py", *["fault"][: int(fault)]], directory)
    done = run([OPDUMP, "compare", "golden/rank_0/net/0/0", name, "--json", "--all", "--pair-by", "operators"], directory, expect=int(fault))
    lines = [json.loads(line) for line in done.splitlines()]
    pairs = {line["operator"]: line["actual_operator"] for line in lines if "confidence" in line}
    scope = "Default/network-WithLossCell/_backbone-Net/"
    assert pairs[f"{scope}conv-Conv2d/BiasAdd-op0"] == "Default/conv-Conv2d/convolution-op0", pairs
    assert pairs[f"{scope}relu-ReLU/ReLU-op0"] == "Default/relu-ReLU/relu-op0", pairs
    assert pairs[f"{scope}fc-Dense/BiasAdd-op0"] == "Default/fc-Linear/addmm-op0", pairs
    if fault:
        assert "fc-Dense" in lines[-1]["first_bad"]["operator"], lines[-1]


def test_a_transformer_against_torch(tmp_path):
    """All steps of a training: what both frameworks compute agrees, and an argument that differs is a number of the graph."""
    train(tmp_path, "mindspore", program="transformer", iteration="all")
    torch = ["/usr/bin/python3", PROGRAMS / "transformer_torch.py"]
    run([OPDUMP, "run", "-o", "torch", "--steps", "all", "--", *torch], tmp_path)
    summary = json.loads(run([OPDUMP, "compare", "torch", "mindspore", "--json"], tmp_path).splitlines()[-1])
    assert summary["compared_tensors"] > 800 and summary["paired_operators"] > 400, summary
    run([OPDUMP, "run", "-o", "fault", "--", *torch, "fault"], tmp_path)
    sentence = run([OPDUMP, "compare", "mindspore", "fault"], tmp_path, expect=1).splitlines()[-1]
    assert "Div-op0 (forward, step 0)" in sentence and "input.1 is 2.8284 in golden and 2.9 in actual" in sentence
