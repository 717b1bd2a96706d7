"""DUMP_GE_GRAPH on models: what the graph says is what the model's file says."""
import onnx
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
