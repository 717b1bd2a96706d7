"""DUMP_GE_GRAPH on models: what the graph says is what the model's file says."""
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
from google.protobuf import text_format


def test_the_graph_is_the_model(models, run):
    graphs = run.directory / "graphs"
    run.model(models, "digits", DUMP_GE_GRAPH="1", ASCEND_WORK_PATH=str(graphs), DUMP_GRAPH_LEVEL="3")
    (path,) = graphs.glob("ge_onnx_*.pbtxt")
    assert path.name == "ge_onnx_00000000_graph_1_Build.pbtxt"
    written = text_format.Parse(path.read_text(), onnx.ModelProto()).graph
    model = onnx.load(models / "digits.onnx").graph
    nodes = {node.name: node for node in written.node}
    made = {output: f"{node.name}:{i}" for node in model.node for i, output in enumerate(node.output)}
    made |= {value.name: f"{value.name}:0" for value in [*model.input, *model.initializer]}
    for node in model.node:
        assert nodes[node.name].op_type == "ge:" + node.op_type
        assert list(nodes[node.name].input) == [made[name] for name in node.input]
    for weight in model.initializer:
        assert nodes[weight.name].op_type == "ge:Const"
        value = next(a.t for a in nodes[weight.name].attribute if a.name == "value")
        assert (onnx.numpy_helper.to_array(value) == onnx.numpy_helper.to_array(weight)).all()
    assert list(nodes["Node_Output"].input) == [made[value.name] for value in model.output]


def graph_of(run, directory, *args, **environment):
    """The onnx.GraphProto that DUMP_GE_GRAPH makes of a run, and what the file for people says."""
    graphs = directory / "graphs"
    said = run.run(*args, "--output-dir", run.directory / "out",
                   **({"DUMP_GE_GRAPH": "2", "ASCEND_WORK_PATH": str(graphs), "DUMP_GRAPH_LEVEL": "3",
                       "DUMP_GRAPH_FORMAT": "ge_proto|onnx|readable"} | environment))
    assert "DUMP_G" not in said, said
    (path,) = graphs.glob("ge_onnx_*_Build.pbtxt")
    (readable,) = graphs.glob("ge_readable_*_Build.txt")
    return text_format.Parse(path.read_text(), onnx.ModelProto()).graph, readable.read_text()


def attributes(node):
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def test_attributes_are_those_of_the_file(models, run, tmp_path):
    graph, readable = graph_of(run, tmp_path, models / "digits.onnx", "--input-dir", models / "digits")
    model = onnx.load(models / "digits.onnx").graph
    written = {node.name: attributes(node) for node in graph.node}
    for node in model.node:
        for name, value in attributes(node).items():
            assert written[node.name][name] == value or abs(written[node.name][name] - value) < 1e-6, (node.name, name)
    assert "%/0/Conv : [#users=1] = Node[type=Conv] (inputs = (_input_0=%data, " in readable
    assert "kernel_shape: {3, 3}, pads: {1, 1, 1, 1}" in readable and "\n  return (%/6/Gemm)\n" in readable


def test_bodies_of_control_flow(models, run, tmp_path):
    graph, readable = graph_of(run, tmp_path, models / "branch.onnx", "--input-dir", models / "branch")
    bodies = {node.name: node.attribute[0].g for node in graph.node if node.op_type == "subgraph"}
    assert sorted(bodies) == ["choose_else_branch", "choose_then_branch"]
    then = {node.name: node for node in bodies["choose_then_branch"].node}
    assert list(then["double"].input) == ["r:0", "r:0"] and then["r"].op_type == "ge:Data" and list(then["Node_Output"].input) == ["double:0"]
    (choose, exp) = [node for node in graph.node if node.name in ("choose", "exp")]
    assert list(choose.input) == ["yes:0"] and list(exp.input) == ["choose:0"]
    assert attributes(choose)["subgraph_name"] == [b"choose_else_branch", b"choose_then_branch"]
    assert ("%choose : [#users=1] = Node[type=If] (inputs = (_input_0=%yes), "
            "attrs = {else_branch: %choose_else_branch, then_branch: %choose_then_branch})") in readable
    assert 'graph("choose_else_branch"):\n  %r : [#users=1] = Node[type=Data] (attrs = {index: 0})\n  %negate' in readable


def test_a_loop(models, run, tmp_path):
    graph, _ = graph_of(run, tmp_path, models / "loop.onnx", "--input-dir", models / "loop")
    (body,) = [node.attribute[0].g for node in graph.node if node.op_type == "subgraph"]
    assert [(node.name, node.op_type) for node in body.node] == [
        ("i", "ge:Data"), ("on", "ge:Data"), ("v", "ge:Data"), ("two", "ge:Data"), ("Identity_0", "ge:Identity"), ("twice", "ge:Mul"),
        ("Node_Output", "ge:NetOutput")]


def test_dimensions_that_differ_between_executions(models, run, tmp_path):
    for rows in (2, 3):
        numpy.save(tmp_path / f"{rows}.npy", numpy.ones((rows, 4), "f4"))
    graph, _ = graph_of(run, tmp_path, models / "dynamic.onnx", "--input", f"x={tmp_path}/2.npy", "--input", f"x={tmp_path}/3.npy")
    shapes = {node.name: attributes(node).get("output_desc_shape:0") for node in graph.node}
    assert shapes["x"] == [-1, 4] and shapes["relu"] == [-1, 4] and shapes["nonzero"] == [2, -1]


def test_an_output_that_an_operator_reads_too(run, tmp_path):
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"], name="relu"), helper.make_node("Neg", ["r"], ["n"], name="neg"),
         helper.make_node("Abs", ["n"], ["unread"], name="abs")], "net",
        [helper.make_tensor_value_info("x", kind, [2])],
        [helper.make_tensor_value_info("n", kind, [2]), helper.make_tensor_value_info("r", kind, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(tmp_path / "net.onnx"))
    written, readable = graph_of(run, tmp_path, tmp_path / "net.onnx", "--random", "7")
    assert list(written.node[-1].input) == ["neg:0", "relu:0"]
    assert readable.endswith("\n  return (output_0=%neg, output_1=%relu)\n")


def test_protoc_reads_the_proto_text(models, run, tmp_path):
    graph_of(run, tmp_path, models / "branch.onnx", "--input-dir", models / "branch")
    (path,) = (tmp_path / "graphs").glob("ge_proto_*.txt")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
    from ge_schema import schema
    (tmp_path / "ge.proto").write_text(schema())
    encode = subprocess.run(["protoc", f"-I{tmp_path}", "--encode=ge.proto.ModelDef", "ge.proto"], input=path.read_bytes(), capture_output=True)
    assert encode.returncode == 0, encode.stderr.decode()
    text = subprocess.run(["protoc", f"-I{tmp_path}", "--decode=ge.proto.ModelDef", "ge.proto"], input=encode.stdout, capture_output=True, check=True)
    assert text.stdout.decode().count("\ngraph {") == 2 and b'subgraph_name: "choose_then_branch"' in text.stdout
