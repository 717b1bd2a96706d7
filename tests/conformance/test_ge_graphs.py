"""DUMP_GE_GRAPH on a real training: the files, by the rules that protoc and ONNX have for them, and what is in them."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from google.protobuf import text_format

from conftest import OPDUMP

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
from ge_schema import schema

TRAINING = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(12, 1, 8, 8), torch.randint(0, 10, (12,)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 4, 3, padding=1)
            self.fc = nn.Linear(256, 10)

        def forward(self, x):
            return self.fc(torch.relu(self.conv(x)).flatten(1))

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for image, label in torch.utils.data.DataLoader(data, batch_size=4):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(image), label).backward()
        optimizer.step()
        print(net.fc.bias.detach().numpy().tobytes().hex())
"""


def graph_files(directory, pattern="*"):
    return {path.name: path for path in sorted(pathlib.Path(directory).rglob(f"ge_{pattern}"))}


def decode(directory, path):
    """What protoc makes of it, printed by protoc."""
    (directory / "ge.proto").write_text(schema())
    command = ["protoc", f"-I{directory}", "ge.proto"]
    binary = subprocess.run([*command, "--encode=ge.proto.ModelDef"], input=path.read_bytes(), capture_output=True)
    assert binary.returncode == 0, binary.stderr.decode()
    return subprocess.run([*command, "--decode=ge.proto.ModelDef"], input=binary.stdout, capture_output=True).stdout


def operators(path):
    run = subprocess.run([OPDUMP, "graph", "convert", path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    model = json.loads(run.stdout)
    return model["graph"][0]["name"], {op["name"]: op for op in model["graph"][0]["op"]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(dump, directory of the graphs) of a training with DUMP_GE_GRAPH=2."""
    from conftest import Runner
    directory = tmp_path_factory.mktemp("training")
    dump = Runner(directory).run(TRAINING, env={"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_PATH": str(directory / "graphs")})
    return dump, directory / "graphs"


def test_files_are_named_as_the_engine_does(trained):
    dump, graphs = trained
    (directory,) = graphs.iterdir()
    assert re.fullmatch(r"pid_\d+_deviceid_0", directory.name)
    names = list(graph_files(graphs))
    count = len(list((dump.path / "graphs").glob("*.ir")))
    assert len(names) == 4 * count
    for number in range(2 * count):
        stage = "Build" if number % 2 else "PreRunBegin"
        assert f"ge_proto_{number:08}_graph_{number // 2}_{stage}.txt" in names
        assert f"ge_onnx_{number:08}_graph_{number // 2}_{stage}.pbtxt" in names


def test_protoc_prints_them_to_the_byte(trained, tmp_path):
    for path in graph_files(trained[1], "proto_*").values():
        assert decode(tmp_path, path) == path.read_bytes(), path.name


def test_onnx_reads_them(trained):
    for name, path in graph_files(trained[1], "onnx_*").items():
        model = text_format.Parse(path.read_text(), onnx.ModelProto())
        _, ops = operators(path.parent / name.replace("onnx", "proto").replace(".pbtxt", ".txt"))
        assert [node.name for node in model.graph.node] == list(ops)
        assert [node.op_type for node in model.graph.node] == ["ge:" + op["type"] for op in ops.values()]
        outputs = {output for node in model.graph.node for output in node.output}
        assert {i for node in model.graph.node for i in node.input if i} <= outputs


def test_operators_are_those_of_the_dump(trained):
    dump, graphs = trained
    name, ops = operators(graph_files(graphs, "proto_*_graph_1_Build.txt").popitem()[1])
    assert name == "net"
    order = (dump.path / "execution_order/ms_execution_order_graph_1.csv").read_text().splitlines()[1:]
    entering = [op for op in ops.values() if op["type"] in ("Data", "Variable", "Const")]
    assert list(ops)[len(entering):] == [*order, "Node_Output"]
    assert [op.get("id", 0) for op in ops.values()] == list(range(len(ops)))
    assert ops["conv.weight"]["type"] == ops["fc.bias"]["type"] == "Variable"
    conv = ops["Default/conv-Conv2d/convolution-op0"]
    assert [i.rpartition(":")[0] for i in conv["input"]][1:] == ["conv.weight", "conv.bias"]
    assert conv["output_desc"][0]["shape"]["dim"] == [4, 4, 8, 8]
    attributes = {entry["key"]: entry["value"] for entry in conv["attr"]}
    assert attributes["padding"] == {"list": {"i": [1, 1], "val_type": "VT_LIST_INT"}}
    phases = {entry["value"]["s"] for op in ops.values() for entry in op.get("attr", []) if entry["key"] == "_opdump_phase"}
    assert phases == {"forward", "backward", "optimizer"}


def test_weights_are_written_on_request(opdump, tmp_path):
    dump = opdump.run(TRAINING, env={"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "3", "ASCEND_WORK_PATH": str(tmp_path / "w")},
                      input_output=2)
    names = list(graph_files(tmp_path / "w"))
    assert names and all("Build" in name for name in names)
    path = tmp_path / "w/ge_onnx_00000001_graph_1_Build.pbtxt"
    model = text_format.Parse(path.read_text(), onnx.ModelProto())
    bias = next(node for node in model.graph.node if node.name == "fc.bias")
    value = onnx.numpy_helper.to_array(next(a.t for a in bias.attribute if a.name == "value"))
    lines = dump.out.split()  # graph 1 is first executed in the second step: weights are what the step made of them
    assert value.tobytes().hex() == lines[1]
    assert value.dtype == np.float32
    proto = tmp_path / "w/ge_proto_00000001_graph_1_Build.txt"
    assert decode(tmp_path, proto) == proto.read_bytes()


def test_only_relations_and_old_names(opdump, tmp_path):
    opdump.run(TRAINING, env={"DUMP_GE_GRAPH": "3", "OPDUMP_GE_GRAPH_NAMES": "short", "DUMP_GRAPH_FORMAT": "onnx",
                              "NPU_COLLECT_PATH": str(tmp_path / "c")})
    names = list(graph_files(tmp_path / "c"))
    assert names[:2] == ["ge_onnx_00000_PreRunBegin.pbtxt", "ge_onnx_00001_Build.pbtxt"]
    (directory,) = (tmp_path / "c/extra-info/graph").iterdir()
    assert re.fullmatch(r"\d+_0", directory.name)
    assert "attribute" not in (directory / names[1]).read_text()


def test_nothing_is_written_unasked(opdump, tmp_path):
    opdump.run(TRAINING, env={"DUMP_GE_GRAPH": "0", "DUMP_GRAPH_PATH": str(tmp_path / "graphs")})
    assert not (tmp_path / "graphs").exists() and not graph_files(tmp_path)


def test_the_recording_goes_on_without_them(opdump, tmp_path):
    (tmp_path / "taken").write_text("")
    dump = opdump.run(TRAINING, env={"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_PATH": str(tmp_path / "taken")})
    assert any("DUMP_GE_GRAPH" in loss["what"] for loss in dump.status["losses"])
    assert dump.steps()[:3] == [0, 1, 2], "what follows is the tail: torch 1.13's profiler makes a tensor there"
