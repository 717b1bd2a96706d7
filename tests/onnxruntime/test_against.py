"""`opdump run --against GOLDEN MODEL.onnx`: a model is compared while it runs, as a program is."""

import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

OPDUMP = os.environ["OPDUMP_BIN"]


@pytest.fixture
def opdump(tmp_path):
    def run(*arguments):
        return subprocess.run([OPDUMP, "run", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run


def write_net(path, bend=1.0):
    """y = tanh(x w) w' with a factor between the two."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((64, 64), np.float32), name) for name in ("w", "v")]
    factor = numpy_helper.from_array(np.float32(bend), "factor")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "/first/MatMul"), helper.make_node("Mul", ["a", "factor"], ["b"], "/scale/Mul"),
             helper.make_node("Tanh", ["b"], ["c"], "/Tanh"), helper.make_node("MatMul", ["c", "v"], ["y"], "/last/MatMul")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 64]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "net", values[:1], values[1:], [*weights, factor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


@pytest.mark.parametrize("name, options", [("digits", ()), ("digits", ("--as-executed",)), ("quantised", ())])
def test_an_equal_run_takes_no_room(opdump, models, tmp_path, name, options):
    words = (models / f"{name}.onnx", "--input-dir", models / name, *options)
    assert opdump("-o", "golden", *words).returncode == 0
    done = opdump("--against", "golden", "--check", *words)
    assert done.returncode == 0 and "no difference: " in done.stderr and "opdump: dumped" in done.stderr, done.stderr
    assert all(path.stat().st_nlink > 1 for path in (tmp_path / "opdump_actual").rglob("*.npy"))


def test_another_model_is_told_and_the_status_is_that_of_the_run(opdump, tmp_path):
    write_net(tmp_path / "net.onnx")
    write_net(tmp_path / "bent.onnx", 1.5)
    assert opdump("-o", "golden", "net.onnx", "--random", 3).returncode == 0
    done = opdump("bent.onnx", "--random", 3, "--against=golden", "-o", "first")
    assert done.returncode == 0 and "first bad operator: /scale/Mul" in done.stderr, done.stderr
    assert "more: opdump blame golden first" in done.stderr
    done = opdump("--check", "--against", "golden", "-o", "second", "bent.onnx", "--random", 3)
    assert done.returncode == 1, done.stderr
    done = opdump("--against", "golden", "--check", "net.onnx", "--random", 4)
    assert done.returncode == 1 and "first bad operator: /first/MatMul" in done.stderr, done.stderr


@pytest.mark.parametrize("kind", ["--stats", "--fingerprints"])
def test_golden_without_tensors(opdump, tmp_path, kind):
    write_net(tmp_path / "net.onnx")
    write_net(tmp_path / "bent.onnx", 1.5)
    assert opdump("-o", "golden", kind, "net.onnx", "--random", 3).returncode == 0
    assert opdump("--against", "golden", "--check", "net.onnx", "--random", 3).returncode == 0
    done = opdump("--against", "golden", "--check", "bent.onnx", "--random", 3)
    assert done.returncode == 1 and "/scale/Mul" in done.stderr, done.stderr


def test_it_ends_at_the_first_difference(opdump, tmp_path):
    """The sixth of many executions has another input: the others are not run, unless all have run before opdump looks."""
    write_net(tmp_path / "net.onnx")
    rng = np.random.default_rng(1)
    inputs = {side: [] for side in ("golden", "actual")}
    for i in range(400):
        x = rng.standard_normal((2000, 64), np.float32)
        if i < 6 or i == 399:
            np.save(tmp_path / f"x{i}.npy", x)
        for words in inputs.values():
            words += ["--input", f"x={'x5.npy' if i > 5 else f'x{i}.npy'}"]
    np.save(tmp_path / "other.npy", rng.standard_normal((2000, 64), np.float32))
    inputs["actual"][11] = "x=other.npy"
    assert opdump("-o", "golden", "--steps", "all", "--stats", "net.onnx", *inputs["golden"], "--threads", 1).returncode == 0
    done = opdump("--against", "golden", "-o", "actual", "--stop-at-first", "net.onnx", *inputs["actual"], "--threads", 1)
    assert "first bad operator: /first/MatMul (forward, step 5)" in done.stderr, done.stderr
    was_ended = "ending the program at the first difference" in done.stderr  # else it was faster than the first look
    assert done.returncode == was_ended, done.stderr
    assert (len(list((tmp_path / "actual").rglob("statistic.csv"))) < 400) == was_ended


def test_bad_input(opdump, tmp_path):
    write_net(tmp_path / "net.onnx")
    missing = opdump("--against", "nothing", "net.onnx", "--random", 3)
    assert missing.returncode == 2 and "--against: nothing" in missing.stderr and not (tmp_path / "opdump_actual").exists(), missing.stderr
    assert opdump("-o", "golden", "net.onnx", "--random", 3).returncode == 0
    itself = opdump("--against", "golden", "-o", "golden", "net.onnx", "--random", 3)
    assert itself.returncode == 2 and "the folder to record into" in itself.stderr
    for words, status, message in ((("none.onnx", "--random", 3), 3, "none.onnx"), (("net.onnx", "--input", "z=z.npy"), 2, "no model has an input z"),
                                   (("net.onnx", "--input", "x=none.npy"), 3, "none.npy")):
        done = opdump("--against", "golden", *words)
        assert done.returncode == status and message in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
        assert not (tmp_path / "opdump_actual").exists()
    alone = opdump("--check", "net.onnx", "--random", 3)
    assert alone.returncode == 2 and "--against" in alone.stderr, alone.stderr
