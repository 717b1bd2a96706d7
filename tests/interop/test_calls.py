"""CANN's containers, written by opdump, seen by protoc and numpy; and made by protoc, seen by opdump.
OPDUMP_SAMPLE_FILES is the program built from sample_files.cc."""
import json
import os
import re
import struct
import subprocess

import numpy as np
import pytest

PROGRAM = os.environ["OPDUMP_SAMPLE_FILES"]
# The schema as CANN publishes its numbers.
SCHEMA = """
syntax = "proto3";
package toolkit.dumpdata;
message Shape { repeated uint64 dim = 1; }
message OriginalOp { string name = 1; uint32 output_index = 2; int32 data_type = 3; int32 format = 4; }
message DimRange { uint64 dim_start = 1; uint64 dim_end = 2; }
message OpOutput {
  int32 data_type = 1; int32 format = 2; Shape shape = 3; OriginalOp original_op = 4; bytes data = 5; uint64 size = 6;
  Shape original_shape = 7; int32 sub_format = 8; uint64 address = 9; repeated DimRange dim_range = 10;
  uint64 offset = 11; uint32 arg_index = 12;
}
message OpInput {
  int32 data_type = 1; int32 format = 2; Shape shape = 3; bytes data = 4; uint64 size = 5; Shape original_shape = 6;
  int32 sub_format = 7; uint64 address = 8; uint64 offset = 9; uint32 arg_index = 10; uint32 input_type = 11;
}
message OpBuffer { int32 buffer_type = 1; bytes data = 2; uint64 size = 3; }
message OpAttr { string name = 1; string value = 2; }
message Workspace { int32 type = 1; bytes data = 2; uint64 size = 3; }
message DumpData {
  string version = 1; uint64 dump_time = 2; repeated OpOutput output = 3; repeated OpInput input = 4;
  repeated OpBuffer buffer = 5; string op_name = 6; repeated OpAttr attr = 7; repeated Workspace space = 8;
  string dfx_message = 9;
}
"""
# number in the message -> (name of ours, what numpy makes of 0..5; raw bytes where numpy has no such type)
DTYPES = {11: ("bool", "?"), 3: ("int8", "i1"), 5: ("int16", "<i2"), 7: ("int32", "<i4"), 8: ("int64", "<i8"),
          4: ("uint8", "u1"), 6: ("uint16", "<u2"), 9: ("uint32", "<u4"), 10: ("uint64", "<u8"), 2: ("float16", "<f2"),
          1: ("float32", "<f4"), 12: ("float64", "<f8"), 16: ("complex64", "<c8"), 17: ("complex128", "<c16"),
          27: ("bfloat16", bytes.fromhex("0000803f00404040" "8040a040")), 28: ("int4", bytes([0x10, 0x32, 0x54])),
          29: ("uint1", bytes([0x54]))}
RAW_FILE = re.compile(r"^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([0-9]+)\.?([0-9]+)?\.([0-9]{1,255})$")


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema")
    (path / "dump.proto").write_text(SCHEMA)
    return path


def protoc(schema, mode, data):
    return subprocess.run(["protoc", f"--proto_path={schema}", f"--{mode}=toolkit.dumpdata.DumpData", "dump.proto"],
                          input=data, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    root = tmp_path_factory.mktemp("dump")
    assert run("calls", root) == ""
    assert json.loads((root / "acl_dump_0.json").read_text())["dump"]["dump_path"] == f"{root}/3"
    [time] = (root / "3").iterdir()
    assert re.fullmatch(r"\d{14}", time.name)
    return time / "0" / "Net" / "1" / "3"


def decode(schema, path):
    """The message as protoc prints it, and what follows it in the file."""
    data = path.read_bytes()
    [length] = struct.unpack("<Q", data[:8])
    return protoc(schema, "decode", data[8:8 + length]).decode(), data[8 + length:]


def test_protoc_and_numpy_read_ours(schema, step):
    names = sorted(path.name for path in step.iterdir())
    assert names == ["Add.Default_x_y_Add-op0.5.2.1733905446819790", "Opdebug.Node_OpDebug.5.2.1733905446819790"]
    assert all(RAW_FILE.match(name) for name in names)
    text, payload = decode(schema, step / names[0])
    assert not re.search(r"^\d+:", text, re.M)  # no field that the schema lacks
    assert 'version: "2.0"' in text and 'op_name: "Default/x.y/Add-op0"' in text
    assert "dump_time: 1733905446819790" in text
    inputs = re.findall(r"^input {\n(.*?)^}", text, re.M | re.S)
    for entry in inputs:
        number = re.search(r"data_type: (\d+)", entry)
        if not number:  # an operand that is absent
            assert "size" not in entry
            continue
        name, kind = DTYPES.pop(int(number[1]))
        expected = kind
        if not isinstance(kind, bytes):
            values = np.arange(6)
            expected = (values % 2 if name == "bool" else values).astype(kind).tobytes()
        assert re.findall(r"dim: (\d+)", entry) == ["2", "3", "2", "3"]  # shape and original shape
        size = int(re.search(r"^  size: (\d+)", entry, re.M)[1])
        assert (payload[:size], size) == (expected, len(expected)), name
        payload = payload[size:]
    assert not DTYPES
    assert payload == struct.pack("<f", 1.5)
    [output] = re.findall(r"^output {\n(.*?)^}", text, re.M | re.S)
    assert "format" not in output.replace("sub_format", "")  # NCHW, number 0


def test_the_record_of_an_overflow(schema, step):
    text, blob = decode(schema, step / "Opdebug.Node_OpDebug.5.2.1733905446819790")
    assert "data_type: 4" in text and "dim: 2048" in text and len(blob) == 2048
    model, stream, task = struct.unpack_from("<3Q", blob, 256)
    assert (model, stream, task) == (1, 2, 5)
    assert struct.unpack_from("<Q", blob, 1040) == (32,)


def test_opdump_reads_what_protoc_writes(schema, tmp_path):
    message = protoc(schema, "encode", b"""
        version: "2.0" dump_time: 7 op_name: "Default/a" dfx_message: "text"
        output { data_type: 8 format: 3 shape { dim: 2 } original_shape { dim: 2 } size: 16 address: 5
                 original_op { name: "b" output_index: 1 data_type: 1 format: 2 } dim_range { dim_start: 1 dim_end: 9 } }
        input { data_type: 1 format: 2 shape { dim: 1 dim: 2 } size: 8 arg_index: 4 }
        buffer { buffer_type: 0 size: 4 } space { type: 0 size: 4 } attr { name: "k" value: "v" }""")
    step = tmp_path / "20240101000000" / "0" / "net" / "1" / "0"
    step.mkdir(parents=True)
    data = np.array([1.5, -2], "<f4").tobytes() + np.array([3, -4], "<i8").tobytes() + 8 * b"x"
    path = step / "Add.a.1.2.3"
    path.write_bytes(struct.pack("<Q", len(message)) + message + data)
    assert run("list", tmp_path).splitlines() == ["Add a input.0 ND float32 (1,2) 1.5 -2",
                                                  "Add a output.0 NC1HWC0 int64 (2) 3 -4"]
    path.write_bytes(path.read_bytes()[:-1])
    assert "problem: torn file: 32 bytes of data announced, 31 in file" in run("list", tmp_path)
