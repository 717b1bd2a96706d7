"""What `opdump run MODEL.onnx` dumps: every operator's inputs and outputs, of all kinds of models."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from conftest import OPDUMP
from onnx import numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import wiring

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/onnx"
NEWEST = subprocess.run([ROOT / "tools/fetch_torch.sh", "--where"], capture_output=True, text=True, check=True).stdout.strip()


def marked(models, name, directory):
    """The model with the outputs of all its operators as outputs, made by the onnx package."""
    model = onnx.load(str(models / f"{name}.onnx"))
    known = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for output in node.output:
            if output and output not in known:
                model.graph.output.append(onnx.ValueInfoProto(name=output))
    path = directory / f"{name}.onnx"
    onnx.save(model, str(path))
    return model, path


@pytest.mark.parametrize("name", ["digits", "quantised", "int8", "dynamic", "several"])
def test_every_value_is_what_the_runtime_computes(run, models, tmp_path, name):
    run.model(models, name)
    dumped = run.tensors()
    model, path = marked(models, name, tmp_path)
    run.run(path, "--input-dir", models / name, "--output-dir", tmp_path / "marked", settings={"path": str(tmp_path / "other")})
    values = {p.stem: np.load(p) for p in (tmp_path / "marked" / name / "0").glob("*.npy")}
    values |= {p.stem: np.load(p) for p in (models / name).glob("*.npy")}
    values |= {constant.name: numpy_helper.to_array(constant) for constant in model.graph.initializer}
    expected = {}
    for number, node in enumerate(model.graph.node):
        label = (node.name or f"{node.op_type}_{number}").replace("/", "_").replace(".", "_")
        for side, names in (("input", node.input), ("output", node.output)):
            for index, value in enumerate(names):
                if value:
                    expected[label, f"{side}.{index}"] = values[value.replace("/", "_")]
    assert dumped.keys() == expected.keys()
    for slot, array in expected.items():
        assert dumped[slot].dtype == array.dtype and np.array_equal(dumped[slot], array), slot


@pytest.mark.parametrize("limit", [None, "64K"], ids=["whole", "parts"])
def test_the_log_has_who_made_each_input(run, models, limit):
    run.model(models, "digits", limit=limit)
    graph = onnx.load(str(models / "digits.onnx")).graph
    log = [json.loads(line) for line in (run.rank / "operators.jsonl").read_text().splitlines()]
    names = [line["name"] for line in log if line["kind"] == "operator"]
    lines = {line["name"]: line["inputs"] for line in log if line["kind"] == "wiring"}
    assert list(lines) == names and len(names) == len(graph.node)
    maker_of = {output: (name, index) for name, node in zip(names, graph.node) for index, output in enumerate(node.output)}
    for name, node in zip(names, graph.node):
        expected = {}
        for index, value in enumerate(node.input):
            if value:
                maker, output = maker_of.get(value, (None, 0))
                expected[str(index)] = maker and {"maker": maker} | ({"output": output} if output else {})
        assert lines[name] == expected
    inner = sum(value in maker_of for node in graph.node for value in node.input)
    assert wiring.check(run.rank)["whole"] == inner > 0


def test_a_network_gives_the_values_of_torch(run, models, tmp_path):
    """Statistics and tensors of the dump of a model are those of the PyTorch dump of the same network."""
    run.model(models, "digits", settings={"statistic_category": ["max", "min", "avg", "l2norm"]})
    script = tmp_path / "infer.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(EXAMPLE)!r})
import numpy, torch
from export_models import digits_network
network = digits_network()
network.load_state_dict(torch.load({str(models / 'digits.pt')!r}))
network.eval()
with torch.no_grad():
    network(torch.from_numpy(numpy.load({str(models / 'digits' / 'data.npy')!r})))
""")
    config = run.config(path=str(tmp_path / "torch"), net_name="net", iteration="0", statistic_category=["max", "min", "avg", "l2norm"])
    subprocess.run([os.environ["OPDUMP_BIN"], "run", "--config", config, "--", sys.executable, script], check=True, cwd=tmp_path)
    pairs = {"Conv": "convolution", "Relu": "relu", "MaxPool": "max_pool2d_with_indices", "Gemm": "addmm"}
    onnx_rows, torch_rows = rows(run.rank / "net/1/0"), rows(tmp_path / "torch/rank_0/net/0/0")
    compared = 0
    for type_of_onnx, type_of_torch in pairs.items():
        ours, theirs = onnx_rows[type_of_onnx], torch_rows[type_of_torch]
        assert len(ours) == len(theirs), type_of_onnx
        for a, b in zip(ours, theirs):
            assert a["Shape"] == b["Shape"]
            for column in ("Max Value", "Min Value", "Avg Value", "L2Norm Value"):
                assert float(a[column]) == pytest.approx(float(b[column]), rel=1e-4, abs=1e-5), (type_of_onnx, column)
                compared += 1
    assert compared == 6 * 4


def rows(step):
    """The rows of statistic.csv that are of first outputs, by operator type."""
    import csv

    found = {}
    with open(step / "statistic.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["IO"] == "output" and row["Slot"] == "0":
                found.setdefault(row["Op Type"], []).append(row)
    return found


def test_float16_and_bfloat16(run, models):
    run.model(models, "half")
    dumped = run.tensors()
    total = dumped["add", "input.0"] + dumped["add", "input.1"]
    assert dumped["add", "output.0"].dtype == np.float16 and np.array_equal(dumped["add", "output.0"], total)
    assert dumped["to_bfloat16", "output.0"].dtype == np.float32, "bfloat16 is stored as float32"
    assert np.allclose(dumped["to_bfloat16", "output.0"], total, rtol=2**-8)
    assert np.array_equal(dumped["to_bfloat16", "output.0"], run.output("half", "y"))


@pytest.mark.parametrize("name,seen", [("branch", {"relu", "exp"}), ("loop", {"neg", "abs"})])
def test_control_flow_is_told_and_not_dumped(run, models, name, seen):
    said = run.model(models, name)
    assert "2 operators in subgraphs (bodies of If, Loop, Scan) are not recorded" in said
    assert {operator for operator, _ in run.tensors()} == seen
    reasons = {line["reason"] for line in run.log() if line["kind"] == "slot"}
    assert reasons == {"no task"}


def test_what_no_file_holds_is_recorded_with_its_reason(run, models):
    said = run.model(models, "words")
    assert "same.npy is not written: string" in said
    reasons = {(line["name"], line["side"], line["index"]): line["reason"] for line in run.log() if line["kind"] == "slot"}
    assert reasons["same", "output", 0] == "string" and reasons["pair", "output", 0] == "not a tensor"
    assert reasons["nothing", "output", 0] == "empty" and reasons["text", "output", 0] == "no task"
    dumped = run.tensors()
    assert np.array_equal(dumped["neg", "output.0"], -np.tile(dumped["pair", "input.0"], 2))


def test_weights_in_another_file(run, models):
    run.model(models, "beside")
    dumped = run.tensors()
    assert np.allclose(dumped["matmul", "output.0"], dumped["matmul", "input.0"] @ dumped["matmul", "input.1"], atol=1e-4)
    assert dumped["matmul", "input.1"].shape == (40, 30)


@pytest.mark.parametrize("name", ["digits", "beside", "branch", "several", "dynamic"])
def test_several_parts_give_the_same(run, models, tmp_path, name):
    run.model(models, name)
    whole = run.tensors()
    said = run.model(models, name, limit="1K" if name == "digits" else "20", settings={"path": str(tmp_path / "parts")})
    assert "it runs in" in said and "parts" in said
    run.rank = tmp_path / "parts/rank_0"
    parts = run.tensors()
    assert whole.keys() == parts.keys()
    assert all(np.array_equal(whole[slot], parts[slot]) for slot in whole)


def test_executions_and_models(run, models, tmp_path):
    for execution in range(3):
        np.save(tmp_path / f"x{execution}.npy", np.full((2, 40), execution, "f4"))
    inputs = [word for execution in range(3) for word in ("--input", f"x={tmp_path}/x{execution}.npy")]
    run.run(models / "beside.onnx", models / "digits.onnx", "--random", 7, *inputs)
    for execution in range(3):
        assert (run.tensors(1, execution)["matmul", "input.0"] == execution).all()
        assert len(run.tensors(2, execution)) == 20
    first, second = (run.tensors(2, execution)["_0_Conv", "input.0"] for execution in (0, 1))
    assert first.shape == (4, 1, 8, 8) and not np.array_equal(first, second) and 0 <= first.min() < first.max() < 1


def test_an_input_before_the_model(run, models):
    run.run("--input", f"data={models}/digits/data.npy", models / "digits.onnx")
    assert len(run.tensors()) == 20


@pytest.mark.parametrize("words,said", [
    (["--input", "image=x.npy"], "no model has an input image; there are data"),
    (["--input", "data=x.npy"], "input data: x.npy has the shape (2,3); the model expects (4,1,8,8)"),
    (["--input", "data=d.npy"], "input data: d.npy is float64; the model expects float32"),
    (["--input", "data"], "--input data: expected NAME=FILE.npy"),
    ([], "input data has no value: pass --input data=FILE.npy, --input-dir or --random"),
])
def test_wrong_inputs(run, models, tmp_path, words, said):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "f4"))
    np.save(tmp_path / "d.npy", np.zeros((4, 1, 8, 8)))
    printed = run.run(models / "digits.onnx", *words, status=2)
    assert said in printed and "dumped" not in printed


def hostile(models, tmp_path):
    """(name, bytes, what is said) of files that are no good models."""
    good = (models / "digits.onnx").read_bytes()
    for size in (0, 1, 100, len(good) // 2, len(good) - 1):
        yield f"truncated_{size}", good[:size], "not an ONNX model"
    yield "text", b"hello, world\n" * 100, "not an ONNX model"
    model = onnx.load(str(models / "digits.onnx"))
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]
    yield "cycle", model.SerializeToString(), "the graph has a cycle"
    for key, dims, said in (("huge", [2**40, 2**40], "more elements than any memory"), ("negative", [-5], "a dimension of -5")):
        model = onnx.load(str(models / "digits.onnx"))
        del model.graph.initializer[0].dims[:]
        model.graph.initializer[0].dims.extend(dims)
        yield key, model.SerializeToString(), said
    for place in ("../secret", "/etc/passwd", "link"):
        model = onnx.load(str(models / "beside.onnx"), load_external_data=False)
        model.graph.initializer[0].external_data[0].value = place
        yield f"outside_{place.replace('/', '_')}", model.SerializeToString(), "outside of the model's folder"
    for key, entry, value, said in (("missing", "location", "nowhere", "No such file"), ("behind", "offset", "99999", "beside.weights has 4920 bytes; "),
                                    ("overflow", "offset", str(2**64 - 4), "its position in another file is"), ("word", "offset", "x", "its position in another file is 'x'")):
        model = onnx.load(str(models / "beside.onnx"), load_external_data=False)
        data = [data for data in model.graph.initializer[0].external_data if data.key == entry]
        data[0].value = value
        yield key, model.SerializeToString(), said
    for key, first, said in (("huge_input", 2**60, "input data: its shape is too large"), ("large_input", 2**30, "an input of more than 4 GiB")):
        model = onnx.load(str(models / "digits.onnx"))
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = first
        yield key, model.SerializeToString(), said


def test_hostile_models(run, models, tmp_path):
    (tmp_path / "secret").write_bytes(b"x" * 10000)
    (tmp_path / "here").mkdir()
    (tmp_path / "here/beside.weights").write_bytes((models / "beside.weights").read_bytes())
    (tmp_path / "here/link").symlink_to(tmp_path / "secret")
    for name, data, said in hostile(models, tmp_path):
        path = tmp_path / f"here/{name}.onnx"
        path.write_bytes(data)
        assert said in run.run(path, "--random", 7, status=3), name


def test_an_offline_model_is_refused_with_a_reason(run, tmp_path):
    (tmp_path / "net.om").write_bytes(b"IMOD" + bytes(100))
    assert "an offline model, made for one kind of processor" in run.run(tmp_path / "net.om", "--random", 7, status=3)


def test_a_pipe_is_no_model(run, tmp_path):
    os.mkfifo(tmp_path / "model.onnx")
    assert "not a regular file" in run.run(tmp_path / "model.onnx", "--random", 7, status=3)


def test_random_inputs_are_the_same_in_every_run(run, models, tmp_path):
    run.run(models / "digits.onnx", "--random", 7, "--output-dir", "a")
    run.run(models / "digits.onnx", "--random", 7, "--output-dir", "b")
    run.run(models / "digits.onnx", "--random", 8, "--output-dir", "c")
    a, b, c = (np.load(tmp_path / which / "digits/0/scores.npy") for which in "abc")
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_steps_that_are_not_selected_are_not_dumped(run, models):
    run.run(models / "digits.onnx", "--random", 7, "--executions", 3, settings={"iteration": "1"})
    assert sorted(p.name for p in (run.rank / "net/1").iterdir()) == ["1"]


def test_selected_operators(run, models):
    run.model(models, "digits", settings={"kernels": ["/1/Relu"], "dump_mode": 1})
    assert {operator for operator, _ in run.tensors()} == {"_1_Relu"}


def test_as_executed(run, models):
    run.model(models, "digits", "--as-executed")
    operators = [line for line in run.log() if line["kind"] == "operator"]
    assert "Relu" not in [line["type"] for line in operators]
    assert ["/0/Conv", "/1/Relu"] in [line["original_names"] for line in operators], operators
    assert all(line["original_names"] == [] for line in operators if line["type"].startswith("Reorder"))
    scores = run.output("digits", "scores")
    run.model(models, "digits", settings={"path": str(run.directory / "plain")})
    assert np.allclose(scores, run.output("digits", "scores"), atol=1e-4)


def test_operators_of_functions_in_the_file(run, tmp_path):
    """ONNX Runtime inlines functions that a model defines, one within another, too."""
    node, opsets = onnx.helper.make_node, [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    leaf = onnx.helper.make_function("own", "Leaf", ["x"], ["y"], [node("LeakyRelu", ["x"], ["y"], "leaky")], opsets, ["alpha"])
    leaf.node[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT))
    block = onnx.helper.make_function("own", "Block", ["x", "w"], ["y"], [
        node("MatMul", ["x", "w"], ["p"], "product"), node("Leaf", ["p"], ["y"], "leaf", domain="own", alpha=0.5)], opsets, [])
    calls = [node("Block", ["x", "w"], ["h"], "first", domain="own"), node("Tanh", ["h"], ["t"], "tanh"),
             node("Block", ["t", "w"], ["y"], "second", domain="own")]
    value = onnx.helper.make_tensor_value_info
    weight = np.random.default_rng(0).standard_normal((4, 4)).astype("f4")
    graph = onnx.helper.make_graph(calls, "g", [value("x", 1, [4, 4])], [value("y", 1, [4, 4])], [numpy_helper.from_array(weight, "w")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, functions=[leaf, block], ir_version=8), str(tmp_path / "calls.onnx"))
    run.run(tmp_path / "calls.onnx", "--random", 1, "--output-dir", run.directory / "out")
    operators = [line for line in run.log() if line["kind"] == "operator"]
    assert [line["type"] for line in operators] == ["MatMul", "LeakyRelu", "Tanh", "MatMul", "LeakyRelu"]
    leaky = operators[-1]["name"]
    found = run.tensors()[leaky, "input.0"]
    assert np.array_equal(run.output("calls", "y"), np.where(found < 0, found / 2, found))


@pytest.mark.parametrize("activation, status", [("Relu", 0), ("Sigmoid", 1)])
def test_a_saved_optimized_model_is_compared_with_the_original(run, tmp_path, activation, status):
    """FusedConv bears the name of the Conv and gives what the Relu does."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    weights = {"w": (4, 3, 3, 3), "v": (2, 4, 1, 1)}
    random = np.random.default_rng(0)
    constants = [numpy_helper.from_array(random.standard_normal(shape).astype("f4"), name) for name, shape in weights.items()]
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    last = node("Conv", ["r", "v"], ["y"], "last")
    fused = node("FusedConv", ["x", "w"], ["r"], "first", domain="com.microsoft", activation=activation)
    graphs = {"written": [node("Conv", ["x", "w"], ["c"], "first"), node("Relu", ["c"], ["r"], "relu"), last], "optimized": [fused, last]}
    for name, nodes in graphs.items():
        graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, [1, 3, 8, 8])], [value("y", 1, [1, 2, 6, 6])], constants)
        onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), str(tmp_path / f"{name}.onnx"))
        run.run(tmp_path / f"{name}.onnx", "--random", 1, settings={"path": str(run.directory / name)})
    for pair in (("written", "optimized"), ("optimized", "written")):
        done = subprocess.run([OPDUMP, "compare", *pair], cwd=run.directory, capture_output=True, text=True)
        assert done.returncode == status, done.stdout
        assert ("first bad operator: " + ("relu" if pair[0] == "written" else "first") in done.stdout) == bool(status), done.stdout


@pytest.fixture(params=[20, 24])
def blocks(tmp_path, request):
    """What ONNX Runtime executes with channels in blocks: 20 of them fill no whole number of these."""
    random = np.random.default_rng(0)
    count = request.param
    weights = {"w": (count, 3, 3, 3), "b": (count,), "w2": (16, count, 3, 3), "w3": (16, 1, 3, 3)}
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    node = onnx.helper.make_node
    nodes = [node("Conv", ["x", "w", "b"], ["c"], "conv", **pads), node("Relu", ["c"], ["r"], "relu"),
             node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["p", "w2"], ["d"], "conv2", **pads), node("Conv", ["d", "w3"], ["e"], "depthwise", group=16, **pads),
             node("Sigmoid", ["e"], ["s"], "sigmoid"), node("Add", ["s", "d"], ["a"], "add"),
             node("Concat", ["a", "d"], ["k"], "concat", axis=1), node("AveragePool", ["k"], ["q"], "average", kernel_shape=[2, 2]),
             node("GlobalAveragePool", ["q"], ["g"], "global")]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "blocks", [value("x", 1, ["n", 3, 8, 8])], [value("g", 1, ["n", 32, 1, 1])],
                                   [onnx.numpy_helper.from_array(random.standard_normal(shape).astype("f4"), name) for name, shape in weights.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "blocks.onnx")
    np.save(tmp_path / "x.npy", random.standard_normal((2, 3, 8, 8)).astype("f4"))
    return tmp_path / "blocks.onnx"


def compare_as_executed(run, model, *options):
    """A graph as written against the same as executed: what compare did, and its slots."""
    arguments = [model, "--input", f"x={model.parent / 'x.npy'}"]
    run.run(*arguments, settings={"path": str(run.directory / "written")})
    run.run(*arguments, "--as-executed", settings={"path": str(run.directory / "executed")})
    done = subprocess.run([OPDUMP, "compare", "written", "executed", "--json", "--all", *options], cwd=run.directory, capture_output=True,
                          text=True)
    *slots, _ = map(json.loads, done.stdout.splitlines())
    return done, slots


def test_blocked_layouts_are_not_accused(run, blocks):
    """The graph as executed against the graph as written: fused operators by what the last of them makes."""
    done, slots = compare_as_executed(run, blocks, "--rtol", "1e-4", "--atol", "1e-4")
    assert done.returncode == 0, done.stdout
    seen = {(slot["operator"].split(" ")[0], slot["slot"]): slot for slot in slots}
    assert {seen[name, "output.0"]["verdict"] for name in ("relu", "pool", "conv2", "sigmoid", "concat", "average", "global")} == {"match"}
    assert seen["pool", "output.0"]["shape"] in ([2, 20, 4, 4], [2, 24, 4, 4])
    assert {seen["conv2", f"input.{i}"]["verdict"] for i in range(2)} == {"match"}, "also the weights"
    assert seen["conv", "output.0"]["verdict"] == "skipped" and seen["conv", "output.0"]["reason"] == "part of a fused operator"


def save_optimized(model, level):
    saved = model.parent / f"saved_{level}.onnx"
    script = ("import sys, onnxruntime as ort; options = ort.SessionOptions(); options.optimized_model_filepath = sys.argv[2]; "
              "options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, 'ORT_ENABLE_' + sys.argv[3]); "
              "ort.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])")
    subprocess.run([NEWEST, "-c", script, model, saved, level], check=True, capture_output=True)
    return saved


def test_a_model_saved_in_blocks_is_compared_with_the_original(run, blocks):
    """ONNX Runtime saves weights and values in blocks, too; those that 20 channels do not fill stay as they are."""
    if not os.access(NEWEST, os.X_OK) or subprocess.run([NEWEST, "-c", "import onnxruntime"], capture_output=True).returncode:
        pytest.skip("no onnxruntime from PyPI: tools/fetch_torch.sh")
    saved = save_optimized(blocks, "ALL")
    for name, model in (("written", blocks), ("saved", saved)):
        run.run(model, "--input", f"x={blocks.parent / 'x.npy'}", settings={"path": str(run.directory / name)})
    for pair in (("written", "saved"), ("saved", "written")):
        done = subprocess.run([OPDUMP, "compare", *pair, "--json", "--all"], cwd=run.directory, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        names = {line["operator"] for line in map(json.loads, done.stdout.splitlines()) if line.get("verdict") == "match"}
        assert len(names) >= 5, names


@pytest.fixture
def channels_last(tmp_path):
    """ONNX Runtime removes the constants, and moves the transpositions behind the operators between them."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((8, 3, 3, 3)).astype("f4"), "v": random.standard_normal((8, 8, 3, 3)).astype("f4")}
    scale = numpy_helper.from_array(np.full((), 1.5, "f4"))
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [node("Transpose", ["x"], ["t"], "to_first", perm=[0, 3, 1, 2]), node("Conv", ["t", "w"], ["c"], "conv", **pads),
             node("Transpose", ["c"], ["l"], "to_last", perm=[0, 2, 3, 1]), node("Constant", [], ["k"], "constant", value=scale),
             node("Max", ["l", "k"], ["m"], "max"), node("Shape", ["m"], ["shape"], "shape"),
             node("Transpose", ["m"], ["u"], "to_first_again", perm=[0, 3, 1, 2]), node("Conv", ["u", "v"], ["d"], "conv2", **pads),
             node("Sigmoid", ["d"], ["sigmoid"], "sigmoid"), node("Transpose", ["sigmoid"], ["e"], "to_last_again", perm=[0, 2, 3, 1]),
             node("Constant", [], ["axes"], "axes", value=numpy_helper.from_array(np.array([-1], "i8"))),
             node("ReduceSum", ["e", "axes"], ["s"], "sum"), node("Div", ["e", "s"], ["y"], "div")]
    graph = onnx.helper.make_graph(nodes, "last", [value("x", 1, ["n", 12, 12, 3])], [value("y", 1, None), value("shape", 7, None)],
                                   [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "last.onnx")
    np.save(tmp_path / "x.npy", random.random((2, 12, 12, 3)).astype("f4"))
    return tmp_path / "last.onnx"


def test_what_the_engine_transposes_is_not_accused(run, channels_last):
    done, slots = compare_as_executed(run, channels_last)
    assert done.returncode == 0, done.stdout
    seen = {(slot["operator"], slot["slot"]): slot for slot in slots}
    assert seen["max", "output.0"]["reason"].startswith("axes "), "the engine transposes later"
    assert {seen[name, "output.0"]["verdict"] for name in ("max", "sum", "div")} <= {"match", "rounding"}
    done = subprocess.run([OPDUMP, "blame", "written", "executed", "--json", "--python", sys.executable], cwd=run.directory,
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["findings"] == [], done.stdout


@pytest.mark.parametrize("level", ["EXTENDED", "ALL"])
@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_model_saved_with_moved_transpositions_is_compared_with_the_original(run, channels_last, level, is_wrong):
    """ReduceSum then has axis 1, and the operators before it have their channels first. Another axis is named."""
    if not os.access(NEWEST, os.X_OK) or subprocess.run([NEWEST, "-c", "import onnxruntime"], capture_output=True).returncode:
        pytest.skip("no onnxruntime from PyPI: tools/fetch_torch.sh")
    model = onnx.load(channels_last)
    if is_wrong:
        next(node for node in model.graph.node if node.name == "axes").attribute[0].t.CopyFrom(numpy_helper.from_array(np.array([1], "i8")))
    changed = channels_last.parent / "changed.onnx"
    onnx.save(model, changed)
    for name, path in (("written", channels_last), ("saved", save_optimized(changed, level))):
        run.run(path, "--input", f"x={channels_last.parent / 'x.npy'}", settings={"path": str(run.directory / name)})
    for pair in (("written", "saved"), ("saved", "written")):
        done = subprocess.run([OPDUMP, "compare", *pair], cwd=run.directory, capture_output=True, text=True)
        assert done.returncode == is_wrong and ("first bad operator: sum " in done.stdout) == is_wrong, done.stdout
        done = subprocess.run([OPDUMP, "blame", *pair, "--python", sys.executable], cwd=run.directory, capture_output=True, text=True)
        assert done.returncode == is_wrong and ("): sum " in done.stdout) == is_wrong, done.stdout


@pytest.mark.parametrize("axis, status", [(2, 0), (1, 1)])
def test_an_attribute_of_one_version_is_an_input_of_another(run, tmp_path, axis, status):
    """ReduceMean has its axes as an attribute up to opset 17. The second model has an operator more, an Identity."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    relu, copy = node("Relu", ["x"], ["r"], "relu"), node("Identity", ["r"], ["c"], "copy")
    graphs = {17: ([relu, node("ReduceMean", ["r"], ["y"], "mean", axes=[2], keepdims=0)], []),
              18: ([relu, copy, node("ReduceMean", ["c", "axes"], ["y"], "mean", keepdims=0)],
                   [numpy_helper.from_array(np.array([axis], "i8"), "axes")])}
    for opset, (nodes, constants) in graphs.items():
        graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, [2, 3, 3])], [value("y", 1, None)], constants)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8), tmp_path / f"{opset}.onnx")
        run.run(tmp_path / f"{opset}.onnx", "--random", 1, settings={"path": str(run.directory / str(opset))})
    for pair in (("17", "18"), ("18", "17")):
        done = subprocess.run([OPDUMP, "compare", *pair], cwd=run.directory, capture_output=True, text=True)
        assert done.returncode == status and ("first bad operator: mean " in done.stdout) == bool(status), done.stdout


def test_an_output_that_one_model_does_not_want_is_no_difference(run, tmp_path):
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    for name, outputs in (("both", ["y", "mask"]), ("one", ["y"])):
        graph = onnx.helper.make_graph([node("MaxPool", ["x"], outputs, "pool", kernel_shape=[2, 2])], "g", [value("x", 1, [1, 1, 4, 4])],
                                       [value("y", 1, None)])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / f"{name}.onnx")
        run.run(tmp_path / f"{name}.onnx", "--random", 1, settings={"path": str(run.directory / name)})
    done = subprocess.run([OPDUMP, "compare", "both", "one"], cwd=run.directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_the_engine_puts_in_has_no_name(run, blocks):
    """ONNX Runtime numbers what it puts in to reorder channels: no pairs if the graphs differ."""
    changed = onnx.load(blocks)
    changed.graph.node.insert(1, onnx.helper.make_node("Identity", ["c"], ["i"], "copy"))
    changed.graph.node.append(onnx.helper.make_node("Softmax", ["e"], ["z"], "more", axis=1))
    changed.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, None))
    onnx.save(changed, blocks.parent / "changed.onnx")
    for name, model in (("golden", blocks), ("actual", blocks.parent / "changed.onnx")):
        run.run(model, "--as-executed", "--input", f"x={blocks.parent / 'x.npy'}", settings={"path": str(run.directory / name)})
    done = subprocess.run([OPDUMP, "compare", "golden", "actual", "--json", "--all"], cwd=run.directory, capture_output=True, text=True)
    wrong = [line["operator"] for line in map(json.loads, done.stdout.splitlines()) if line.get("operator_verdict") in ("own_error", "inherited")]
    assert wrong == [], done.stdout


@pytest.mark.parametrize("is_wrong", [False, True])
def test_another_activation_that_the_engine_fuses_is_named(run, blocks, is_wrong):
    """The engine rounds otherwise, and blame says what compare does."""
    written = onnx.load(blocks)
    if is_wrong:
        next(node for node in written.graph.node if node.name == "sigmoid").op_type = "Tanh"
    changed = blocks.parent / "changed.onnx"
    onnx.save(written, changed)
    for name, model, options in (("golden", blocks, []), ("actual", changed, ["--as-executed"])):
        run.run(model, "--input", f"x={blocks.parent / 'x.npy'}", *options, settings={"path": str(run.directory / name)})
    for command in (["compare"], *([["blame", "--python", sys.executable]] if is_wrong else [])):
        done = subprocess.run([OPDUMP, *command, "golden", "actual"], cwd=run.directory, capture_output=True, text=True)
        assert done.returncode == is_wrong and (": sigmoid (" in done.stdout or "): sigmoid " in done.stdout) == is_wrong, done.stdout


def test_the_operator_that_fails_is_named(run, models):
    said = run.model(models, "failing", status=3)
    assert "failing.onnx: operator reshape (Reshape) failed: " in said
    dumped = run.tensors()
    assert ("neg", "output.0") in dumped and ("reshape", "output.0") not in dumped
    assert np.array_equal(dumped["reshape", "input.1"], [2, 3])


def test_the_failing_operator_in_an_exception_dump(run, models):
    run.model(models, "failing", status=3, settings={"op_debug_mode": 4})
    assert set(run.tensors()) == {("reshape", "input.0"), ("reshape", "input.1")}


def test_values_that_the_model_states_are_no_overflow(run, tmp_path):
    """Constants with infinities, in every form that a file has for them; the only overflow comes last."""
    node, tensor, value = onnx.helper.make_node, onnx.helper.make_tensor, onnx.helper.make_tensor_value_info
    infinite = {"raw": numpy_helper.from_array(np.array([-np.inf], "f4")), "floats": tensor("v", 1, [1], [float("-inf")]),
                "halves": tensor("v", 10, [1], [float("nan")]), "doubles": tensor("v", 11, [1], [float("inf")])}
    nodes = [node("Shape", ["x"], ["shape"], "shape")]
    nodes += [node("ConstantOfShape", ["shape"], [name], name, value=filler) for name, filler in infinite.items()]
    mask = np.triu(np.full((40, 40), -np.inf, "f4"), 1)
    nodes += [node("Constant", [], ["mask"], "mask", value=numpy_helper.from_array(mask)), node("Div", ["x", "zero"], ["div"], "div")]
    types = {"halves": 10, "doubles": 11}
    outputs = [value(name, types.get(name, 1), None) for name in [*infinite, "mask", "div"]]
    graph = onnx.helper.make_graph(nodes, "values", [value("x", 1, [2])], outputs, [numpy_helper.from_array(np.zeros(2, "f4"), "zero")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "values.onnx")
    np.save(tmp_path / "x.npy", np.ones(2, "f4"))
    run.run(tmp_path / "values.onnx", "--input", f"x={tmp_path / 'x.npy'}", settings={"op_debug_mode": 3, "saved_data": "tensor"})
    assert {name for name, _ in run.tensors()} == {"div"}
