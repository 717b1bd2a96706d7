"""opdump blame and opdump reproduce on ONNX models: what ONNX Runtime computes is explained, and a wrong output is not."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

OPDUMP = os.environ["OPDUMP_BIN"]
DRAWS = np.random.default_rng(3)

IMAGE, MATRIX = (2, 6, 9, 8), (4, 6)
# (type, shape of x, more inputs that are constants, attributes, outputs)
WEIGHT = DRAWS.standard_normal((8, 6, 3, 3)).astype(np.float32)
VECTOR = DRAWS.standard_normal(6).astype(np.float32)
POSITIVE = np.abs(VECTOR) + 1
OPERATORS = [
    ("Conv", IMAGE, [WEIGHT, DRAWS.standard_normal(8).astype(np.float32)], {"pads": [1, 0, 2, 1], "strides": [2, 1]}, 1),
    ("Conv", IMAGE, [WEIGHT[:6, :1]], {"group": 6, "auto_pad": "SAME_UPPER", "strides": [2, 2]}, 1),
    ("Conv", IMAGE, [WEIGHT], {"auto_pad": "SAME_LOWER", "strides": [2, 3]}, 1),
    ("ConvTranspose", IMAGE, [WEIGHT.transpose(1, 0, 2, 3).copy()], {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0]}, 1),
    ("Gemm", MATRIX, [WEIGHT[:, :, 0, 0], DRAWS.standard_normal(8).astype(np.float32)], {"transB": 1, "alpha": 0.5, "beta": 2.0}, 1),
    ("Gemm", MATRIX, [WEIGHT[:4, :, 0, 0]], {"transA": 1}, 1),
    ("MatMul", MATRIX, [WEIGHT[:, :, 0, 0].T.copy()], {}, 1),
    ("BatchNormalization", IMAGE, [POSITIVE, VECTOR, VECTOR, POSITIVE], {"epsilon": 0.01}, 1),
    ("LayerNormalization", MATRIX, [POSITIVE, VECTOR], {"axis": -1}, 1),
    ("InstanceNormalization", IMAGE, [POSITIVE, VECTOR], {}, 1),
    ("Softmax", MATRIX, [], {"axis": 0}, 1), ("LogSoftmax", MATRIX, [], {}, 1),
    ("AveragePool", IMAGE, [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, 1),
    ("AveragePool", IMAGE, [], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1], "count_include_pad": 1}, 1),
    ("MaxPool", IMAGE, [], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, 1),
    ("MaxPool", IMAGE, [], {"kernel_shape": [2, 2], "pads": [1, 0, 1, 0], "dilations": [2, 1]}, 1),
    ("GlobalAveragePool", IMAGE, [], {}, 1), ("GlobalMaxPool", IMAGE, [], {}, 1),
    ("ReduceMean", IMAGE, [], {"axes": [1, 3], "keepdims": 0}, 1), ("ReduceSum", IMAGE, [np.array([2], np.int64)], {}, 1),
    ("ReduceMax", IMAGE, [], {"axes": [0]}, 1), ("ReduceL2", MATRIX, [], {"axes": [1]}, 1),
    ("ReduceLogSumExp", MATRIX, [], {"axes": [1]}, 1), ("ReduceProd", MATRIX, [], {"axes": [0, 1]}, 1),
    ("ReduceL1", MATRIX, [], {}, 1), ("ReduceSumSquare", MATRIX, [], {"axes": [0]}, 1),
    *((name, MATRIX, [VECTOR], {}, 1) for name in ("Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean", "Greater", "PRelu")),
    ("Div", MATRIX, [POSITIVE], {}, 1), ("Pow", MATRIX, [np.array(2, np.float32)], {}, 1),
    *((name, MATRIX, [], {}, 1) for name in (
        "Relu", "Exp", "Erf", "Sin", "Cos", "Tanh", "Sigmoid", "Softplus", "Softsign", "Elu", "Selu", "HardSigmoid", "HardSwish",
        "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Celu", "ThresholdedRelu", "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Identity", "Transpose", "Reciprocal", "Shape")),
    ("LeakyRelu", MATRIX, [], {"alpha": 0.2}, 1), ("Clip", MATRIX, [np.array(-0.5, np.float32), np.array(0.5, np.float32)], {}, 1),
    ("Transpose", IMAGE, [], {"perm": [0, 2, 3, 1]}, 1), ("Flatten", IMAGE, [], {"axis": 2}, 1),
    ("Reshape", IMAGE, [np.array([0, -1, 4], np.int64)], {}, 1), ("Concat", MATRIX, [WEIGHT[:4, :, 0, 0]], {"axis": 0}, 1),
    ("Slice", IMAGE, [np.array([-1, 1], np.int64), np.array([-100, 7], np.int64), np.array([3, 2], np.int64), np.array([-2, 2], np.int64)], {}, 1),
    ("Gather", MATRIX, [np.array([[0, -1], [2, 1]], np.int64)], {"axis": 1}, 1), ("Squeeze", (1, 6, 1), [np.array([0], np.int64)], {}, 1),
    ("Unsqueeze", MATRIX, [np.array([0, -1], np.int64)], {}, 1), ("Expand", (4, 1), [np.array([2, 1, 5], np.int64)], {}, 1),
    ("Pad", MATRIX, [np.array([0, 1, 2, 0], np.int64), np.array(3, np.float32)], {}, 1), ("Tile", MATRIX, [np.array([2, 1], np.int64)], {}, 1),
    ("Split", MATRIX, [np.array([1, 5], np.int64)], {"axis": 1}, 2), ("Cast", MATRIX, [], {"to": TensorProto.INT64}, 1),
]


def write_model(path, operators):
    """A model in which each operator reads an input of its own."""
    nodes, inputs, constants, outputs = [], [], [], []
    for i, (kind, shape, more, attributes, count) in enumerate(operators):
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape))
        constants += [numpy_helper.from_array(np.asarray(value), f"c{i}_{j}") for j, value in enumerate(more)]
        made = [f"y{i}_{j}" for j in range(count)]
        nodes.append(helper.make_node(kind, [f"x{i}", *(f"c{i}_{j}" for j in range(len(more)))], made, name=f"{kind}_{i}", **attributes))
        outputs += [onnx.ValueInfoProto(name=name) for name in made]
    graph = helper.make_graph(nodes, "operators", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def opdump(*args, cwd, status=0):
    done = subprocess.run([OPDUMP, *map(str, args)], cwd=cwd, text=True, capture_output=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def record(directory, name, operators, *options):
    model = directory / f"{name}.onnx"
    write_model(model, operators)
    inputs = directory / "inputs"
    inputs.mkdir(exist_ok=True)
    draws = np.random.default_rng(5)
    for i, (_, shape, *_) in enumerate(operators):
        np.save(inputs / f"x{i}.npy", draws.standard_normal(shape).astype(np.float32))
    opdump("run", "-o", name, *options, model, "--input-dir", inputs, cwd=directory)
    return directory / name


def blame(directory, status):
    return json.loads(opdump("blame", "golden", "actual", "--json", "--python", sys.executable, cwd=directory, status=status))


def test_what_the_engine_computes_is_explained(tmp_path):
    record(tmp_path, "dump", OPERATORS)
    text = opdump("blame", "--calibrate", "dump", "--limits", "limits.json", "--python", sys.executable, cwd=tmp_path)
    assert "left out" not in text and f"{len(OPERATORS)} operators ran again" in text
    limits = json.loads((tmp_path / "limits.json").read_text())["limits"]["float32"]
    # Three times the largest error: of what rounding may do, no more than it does.
    assert {"convolution", "mm", "Softmax", "BatchNormalization", "add", "Erf"} <= set(limits)
    assert {name: of for name, of in limits.items() if of["r"] > 24} == {}


# Of which opdump has no reference.
FOREIGN = [
    ("CumSum", MATRIX, [np.array(1, np.int64)], {}, 1), ("TopK", MATRIX, [np.array([2], np.int64)], {}, 2),
    ("Einsum", MATRIX, [], {"equation": "ij->i"}, 1), ("LpNormalization", MATRIX, [], {}, 1),
    ("GatherElements", MATRIX, [np.array([[0, 1], [1, 0], [2, 2], [3, 3]], np.int64)], {"axis": 1}, 1),
]


@pytest.fixture
def engine():
    """A Python with torch and ONNX Runtime."""
    tool = pathlib.Path(__file__).parents[2] / "tools/fetch_torch.sh"
    python = subprocess.run([tool, "--where"], capture_output=True, text=True, check=True).stdout.strip()
    for candidate in (sys.executable, python):
        # Elsewhere than here, where a folder has the name of the package.
        if os.path.exists(candidate) and subprocess.run([candidate, "-c", "import onnx, onnxruntime, torch"], cwd="/", capture_output=True).returncode == 0:
            return candidate
    pytest.skip("no Python with onnxruntime: tools/fetch_torch.sh installs one")


def test_operators_without_a_reference_run_with_the_engine(tmp_path, engine):
    record(tmp_path, "golden", FOREIGN)
    text = opdump("blame", "--calibrate", "golden", "--limits", "limits.json", "--python", engine, cwd=tmp_path)
    assert "left out" not in text and f"{len(FOREIGN)} operators ran again" in text
    shutil.copytree(tmp_path / "golden", tmp_path / "actual")
    file, = (tmp_path / "actual/rank_0").glob("**/*.LpNormalization_3.*.output.0.*.npy")
    wrong = np.load(file)
    wrong[1, 2] *= 1.001
    file.unlink()
    np.save(file, wrong)
    answer = json.loads(opdump("blame", "golden", "actual", "--json", "--python", engine, cwd=tmp_path, status=1))
    assert [(f["operator"], f["confidence"]) for f in answer["findings"]] == [("LpNormalization_3", "certain")]
    assert answer["findings"][0]["error"]["worst"] == [1, 2]


def test_an_operator_that_the_engine_has_in_float32_only_says_so(tmp_path, engine):
    record(tmp_path, "dump", [("LRN", IMAGE, [], {"size": 3}, 1)])
    text = opdump("blame", "--calibrate", "dump", "--limits", "limits.json", "--python", engine, cwd=tmp_path, status=3)
    assert "ONNX Runtime cannot run LRN in float64: Could not find an implementation for LRN(13)" in text


CHAIN = [OPERATORS[0], ("Softmax", MATRIX, [], {"axis": 1}, 1)]


@pytest.mark.parametrize("number", range(len(CHAIN)))
def test_a_wrong_output_is_named_and_reproduced(tmp_path, number):
    record(tmp_path, "golden", CHAIN)
    shutil.copytree(tmp_path / "golden", tmp_path / "actual")
    name = f"{CHAIN[number][0]}_{number}"
    file, = (tmp_path / "actual/rank_0").glob(f"**/*.{name}.*.output.0.*.npy")
    wrong = np.load(file)
    wrong.reshape(-1)[5] *= 1.01
    file.unlink()
    np.save(file, wrong)
    answer = blame(tmp_path, 1)
    assert [(f["operator"], f["cause"], f["confidence"]) for f in answer["findings"]] == [(name, "own_error", "certain")]
    assert answer["findings"][0]["error"]["worst"] == [int(i) for i in np.unravel_index(5, wrong.shape)]
    opdump("reproduce", "actual", name, "-o", "script.py", "--python", sys.executable, cwd=tmp_path)
    shown = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, text=True, capture_output=True, check=True).stdout
    error = float(shown.split("output.0 recorded: relative error ")[1].split(",")[0])
    assert 1e-5 < error < 1e-2 and "worst element 5:" in shown


def test_without_inputs_a_wrong_output_is_suspect(tmp_path):
    """acl.json records outputs only by default, data_dump.json with "input_output": 2."""
    config = {"common_dump_settings": {"dump_mode": 0, "path": str(tmp_path), "net_name": "net", "input_output": 2},
              "e2e_dump_settings": {"enable": True}}
    (tmp_path / "outputs.json").write_text(json.dumps(config))
    record(tmp_path, "golden", CHAIN, "--config", "outputs.json")
    shutil.copytree(tmp_path / "golden", tmp_path / "actual")
    file, = (tmp_path / "actual/rank_0").glob("**/*.Softmax_1.*.output.0.*.npy")
    wrong = np.load(file)
    wrong.reshape(-1)[5] *= 1.01
    file.unlink()
    np.save(file, wrong)
    answer = blame(tmp_path, 1)
    assert [(f["operator"], f["confidence"]) for f in answer["findings"]] == [("Softmax_1", "suspect")]
    assert answer["not_replayed"] == ["1 operator: the dump has no data of its inputs, which opdump run -o records"]


def test_an_attribute_is_the_cause(tmp_path):
    norm = ("BatchNormalization", IMAGE, [POSITIVE, VECTOR, VECTOR, POSITIVE])
    record(tmp_path, "golden", [(*norm, {"epsilon": 1e-5}, 1)])
    record(tmp_path, "actual", [(*norm, {"epsilon": 1e-3}, 1)])
    finding = blame(tmp_path, 1)["findings"][0]
    assert (finding["cause"], finding["confidence"]) == ("argument", "certain")
    assert finding["why"].startswith("epsilon is ")


def test_what_is_executed_is_explained(tmp_path):
    """Fused operators, and what rounds otherwise, are no fault."""
    chain = [("Conv", IMAGE, [WEIGHT], {}, 1)]
    record(tmp_path, "golden", chain)
    record(tmp_path, "actual", chain, "--as-executed")
    answer = blame(tmp_path, 0)
    assert answer["outcome"] in ("same", "rounding") and answer["not_replayed"] == []
    done = subprocess.run([OPDUMP, "reproduce", "actual", "y0_0_nchwc", "-o", "script.py", "--python", sys.executable], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode != 0 and "its kernel wants tensors in blocks" in done.stderr


@pytest.mark.parametrize("wrong", ["LeakyRelu", "Neg"])
def test_another_operator_of_the_same_name_is_the_cause(tmp_path, wrong):
    """The name of an operator of ONNX does not tell its type."""
    record(tmp_path, "golden", [("Relu", MATRIX, [], {}, 1)])
    path, model = tmp_path / "actual.onnx", onnx.load(str(tmp_path / "golden.onnx"))
    model.graph.node[0].op_type = wrong
    onnx.save(model, str(path))
    opdump("run", "-o", "actual", path, "--input-dir", "inputs", cwd=tmp_path)
    finding = blame(tmp_path, 1)["findings"][0]
    assert (finding["operator"], finding["cause"], finding["confidence"]) == ("Relu_0", "sequence", "certain")
    text = opdump("compare", "golden", "actual", cwd=tmp_path, status=1)
    assert f"— another operator: Relu in golden and {wrong} in actual, output differs" in text


@pytest.mark.parametrize("axis", [0, 1])
def test_other_arguments_than_those_of_torch_are_suspect(tmp_path, axis):
    """Each run computes what it says: only the two together show the fault."""
    record(tmp_path, "actual", [("Softmax", MATRIX, [], {"axis": axis}, 1)])
    program = "import numpy, torch; torch.softmax(torch.from_numpy(numpy.load('inputs/x0.npy')), 1)"
    opdump("run", "-o", "golden", "--", sys.executable, "-c", program, cwd=tmp_path)
    answer = blame(tmp_path, int(axis == 0))
    if axis == 1:
        assert answer["findings"] == []
        return
    finding = answer["findings"][0]
    assert (finding["type"], finding["cause"], finding["confidence"]) == ("_softmax", "unknown", "suspect")
    assert "in actual Softmax_0 (Softmax): other arguments" in finding["why"]


def test_weights_that_float16_cannot_hold_in_full_are_no_culprit(tmp_path):
    """Below 6e-5, float16 has fewer digits."""
    weight = DRAWS.standard_normal((6, 300)).astype(np.float32)
    weight[:, ::7] *= 1e-6
    record(tmp_path, "golden", [("MatMul", MATRIX, [weight], {}, 1)])
    model = onnx.load(str(tmp_path / "golden.onnx"))
    product, constant = model.graph.node[0], model.graph.initializer[0]
    constant.CopyFrom(numpy_helper.from_array(weight.astype(np.float16), constant.name))
    model.graph.node.insert(0, helper.make_node("Cast", [product.input[0]], ["half"], "cast", to=TensorProto.FLOAT16))
    model.graph.node[1].input[0] = "half"
    onnx.save(model, str(tmp_path / "actual.onnx"))
    opdump("run", "-o", "actual", "actual.onnx", "--input-dir", "inputs", cwd=tmp_path)
    assert blame(tmp_path, 0)["outcome"] == "rounding"


def test_parts_of_equal_size_are_explained(engine):
    """num_outputs: since version 18, which Debian's package onnx does not know."""
    script = ("import torch\nfrom opdump_replay import onnx_operators as onnx\n"
              "parts = onnx.OnnxOperator('onnx::Split.18').run({'axis': 1, 'num_outputs': 3}, {0: torch.ones(2, 7)}, None)\n"
              "print([list(part.shape) for part in parts])")
    package = pathlib.Path(__file__).parents[2] / "python/opdump/_replay"
    done = subprocess.run([engine, "-B", "-c", script], cwd=package, capture_output=True, text=True, check=True)
    assert done.stdout == "[[2, 3], [2, 3], [2, 1]]\n"
