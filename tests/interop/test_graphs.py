"""The graph files of opdump, seen by the rules that MindSpore's tests and other tools apply to them, and by protoc; and
what protoc writes, seen by opdump. OPDUMP_SAMPLE_FILES is the program built from sample_files.cc."""
import os
import re
import shutil
import stat
import subprocess

import pytest

PROGRAM = os.environ["OPDUMP_SAMPLE_FILES"]
GRAPH = "ms_output_trace_code_graph_3"

# The messages of MindSpore's debugger, from their field numbers.
PROTO = """
syntax = "proto2";
package debugger;
message ModelProto {
  optional int64 ir_version = 1; optional string domain = 2; optional int64 model_version = 3;
  optional GraphProto graph = 4;
}
message GraphProto {
  repeated NodeProto node = 1; optional string name = 2; repeated ParameterProto parameters = 3;
  repeated OutputProto outputs = 4; repeated NamedValueProto const_vals = 5; optional string root_name = 6;
}
message NodeProto {
  repeated InputProto input = 1; optional string name = 2; optional string op_type = 3; optional string scope = 4;
  repeated AttributeProto attribute = 5; optional TypeProto output_type = 6; optional uint64 output_i = 7;
  optional string full_name = 8; optional string source_address = 9;
}
message InputProto {
  enum EdgeType { DATA_EDGE = 0; CONTROL_EDGE = 1; }
  optional string name = 1; optional EdgeType type = 2;
}
message ParameterProto { optional string name = 1; optional TypeProto type = 2; optional ValueProto default_val = 3; }
message OutputProto { optional string name = 1; optional TypeProto type = 2; }
message AttributeProto { optional string name = 1; optional ValueProto value = 2; }
message NamedValueProto { optional string key = 1; optional ValueProto value = 2; optional string full_name = 3; }
enum DataType {
  DT_UNDEFINED = 0; DT_BOOL = 1; DT_INT8 = 2; DT_INT16 = 3; DT_INT32 = 4; DT_INT64 = 5; DT_UINT8 = 6; DT_UINT16 = 7;
  DT_UINT32 = 8; DT_UINT64 = 9; DT_FLOAT16 = 10; DT_FLOAT32 = 11; DT_FLOAT64 = 12; DT_STRING = 13; DT_TENSOR = 14;
  DT_TUPLE = 31; DT_LIST = 32; DT_NONE = 34; DT_BFLOAT16 = 46; DT_INT4 = 48;
}
message TensorShapeProto {
  message Dimension { optional int64 size = 1; optional string name = 2; }
  repeated Dimension dim = 1;
}
message TypeProto {
  message Tensor { optional DataType elem_type = 1; optional TensorShapeProto shape = 2; }
  message Sequence { repeated TypeProto elem_types = 1; }
  optional DataType data_type = 1;
  oneof value { Tensor tensor_type = 2; Sequence sequence_type = 3; }
}
message TensorProto { optional bytes tensor_content = 3; repeated int64 dims = 4; optional DataType data_type = 5; }
message ValueProto {
  optional DataType dtype = 1; optional bool bool_val = 2; optional int64 int_val = 3; optional uint64 uint_val = 4;
  optional float float_val = 5; optional double double_val = 6; optional string str_val = 7;
  optional TensorProto tensor_val = 8; repeated ValueProto values = 18;
}
"""


@pytest.fixture(scope="module")
def rank(tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / "rank_0"
    assert subprocess.run([PROGRAM, "graph", path], check=True, capture_output=True, text=True).stdout == ""
    return path


@pytest.fixture(scope="module")
def ir(rank):
    return (rank / "graphs" / f"{GRAPH}.ir").read_text()


def test_permissions(rank):
    for path in rank.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600 if "global" in path.name else 0o400), path


def test_execution_order_by_the_rules_of_mindspores_tests(rank, ir):
    graphs = list((rank / "graphs").glob("*.ir"))
    orders = list((rank / "execution_order").glob("ms_execution_order_graph_*.csv"))
    assert len(graphs) == len(orders) == len(list((rank / "graphs").glob("*.pb"))) == 1
    names = set(re.findall(r"      # Fullname with scope:.*?\((.*)\)\n", ir))
    header, *lines = orders[0].read_text().splitlines()
    assert header == "NodeExecutionOrder-FullNameWithScope"
    assert len(lines) == 5 and set(lines) <= names
    history = rank / "execution_order/ms_global_execution_order_graph_3.csv"
    assert [int(line) for line in history.read_text().splitlines()] == [0, 1, 4]


def operands(text):
    """The pieces of "(a, (b, c))" at its first level."""
    depth, count, quoted = 0, 0, False
    previous = ""
    for c in text:
        quoted ^= c == '"' and previous != "\\"
        previous = c
        if not quoted:
            depth += (c in "([{") - (c in ")]}")
            count += c == "," and depth == 1
        if depth == 0 and not quoted:
            break
    return count + (text[1] != ")")


def test_nodes_by_the_rules_of_mindspores_tests(ir):
    nodes = re.findall(r"(  %[0-9]+?\(\w+?\) = .+\n)      : (\(.*\)) -> (\(.*\))\n", ir)
    assert len(nodes) == 7  # five operators, two TupleGetItem
    for node, inputs, outputs in nodes:
        arguments = re.search(r"= \w+(\(.*)", node)[1]
        assert len(re.findall("<.*?>", inputs)) == operands(arguments), node
        assert len(re.findall("<.*?>", outputs)) == 1, node


def test_nodes_by_the_rules_of_msprobe(ir):
    assert re.search(r"# IR entry: @(\S+)", ir)[1] == "kernel_graph3"
    node = re.compile(r"(%\d+)\(([A-Za-z0-9_\.]+)\)\s*=\s*([A-Za-z_][A-Za-z0-9_]*)\(")
    lines = ir.splitlines()
    found = []
    for number, line in enumerate(lines):
        if match := node.search(line):
            found.append([match[3], None, []])
        elif found and line.lstrip().startswith("#") and len(line) <= 300 and "scope" in line:
            found[-1][1] = re.search(r"scope.*?: \((.{1,200})\)", line)[1]
            for below in lines[number + 1:]:
                if not below.lstrip().startswith("# "):
                    break
                found[-1][2].append(below.strip()[2:])
    assert [entry[0] for entry in found] == [
        "convolution", "max_pool2d_with_indices", "TupleGetItem", "TupleGetItem", "cat", "add", "my__gather"]
    assert found[0][1:] == ["Default/conv1-Conv2d/convolution-op0", ["In file train.py:12, 0~0//"]]
    # Names of files contain the scope with '_' for '/'.
    npy = "convolution.Default_conv1-Conv2d_convolution-op0.0.0.1733905446819790.output.0.DefaultFormat.float32.npy"
    assert found[0][1].replace("/", "_") in npy


@pytest.fixture(scope="module")
def protoc(tmp_path_factory):
    if shutil.which("protoc") is None:
        pytest.skip("protoc is not installed")
    directory = tmp_path_factory.mktemp("proto")
    (directory / "debugger.proto").write_text(PROTO)

    def run(direction, data):
        return subprocess.run(["protoc", f"--{direction}=debugger.ModelProto", "-I", directory, "debugger.proto"],
                              input=data, check=True, capture_output=True).stdout
    return run


def test_pb_by_protoc(rank, protoc):
    data = (rank / "graphs" / f"{GRAPH}.pb").read_bytes()
    text = protoc("decode", data).decode()
    assert not re.search(r"^\s*\d+", text, re.M)  # no field that the schema does not know
    assert protoc("encode", text.encode()) == data
    assert text.count("\n  node {") == 7
    assert 'full_name: "Default/conv1-Conv2d/convolution-op0"' in text
    assert re.search(r'name: "groups"\s+value {\s+dtype: DT_INT64\s+int_val: 1\s+}', text)
    assert re.search(r'name: "alpha"\s+value {\s+dtype: DT_FLOAT64\s+double_val: 0.5\s+}', text)
    assert re.search(r'key: "cst3".*full_name: "Default_data-0"', text, re.S)
    assert 'root_name: "3"' in text


def test_reads_what_protoc_writes(tmp_path, protoc):
    text = """
      ir_version: 1
      graph {
        name: "kernel_graph_0"
        parameters { name: "x" type { data_type: DT_TENSOR tensor_type { elem_type: DT_FLOAT32 shape { dim { size: 4 } } } } }
        const_vals { key: "cst1" value { dtype: DT_INT64 int_val: 1 } }
        node { name: "1" op_type: "Split" full_name: "Default/Split-op1" input { name: "x" } input { name: "cst1" } }
        node { name: "2" op_type: "tuple_getitem" full_name: "Default/t" input { name: "1" } input { name: "cst1" } }
        node { name: "3" op_type: "Neg" full_name: "Default/Neg-op2" input { name: "2" } input { name: "gone" } }
      }"""
    (tmp_path / "a.pb").write_bytes(protoc("encode", text.encode()))
    out = subprocess.run([PROGRAM, "nodes", tmp_path / "a.pb"], check=True, capture_output=True, text=True).stdout
    assert out == "Split Default/Split-op1 x\nNeg Default/Neg-op2 Default/Split-op1.1 ?\n"


def test_reads_back_both(rank):
    read = [subprocess.run([PROGRAM, "nodes", rank / "graphs" / f"{GRAPH}.{kind}"], check=True, capture_output=True,
                           text=True).stdout.splitlines() for kind in ("ir", "pb")]
    assert read[0][:3] == read[1][:3] == [
        "convolution Default/conv1-Conv2d/convolution-op0 x conv1.weight",
        "max_pool2d_with_indices Default/pool-MaxPool2d/max_pool2d_with_indices-op0 Default/conv1-Conv2d/convolution-op0.0",
        "cat Default/head-Head/cat-op0 Default/pool-MaxPool2d/max_pool2d_with_indices-op0.0"
        " Default/pool-MaxPool2d/max_pool2d_with_indices-op0.0"]
