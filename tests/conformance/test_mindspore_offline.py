"""The trees of files without e2e_dump_settings: Ascend O2 and the graph engine (mindspore.md 2.9, 2.10, 6.2)."""

import json
import pathlib
import re
import shutil
import struct
import subprocess

import numpy as np
import pandas as pd
import pytest

from conftest import OPDUMP
from test_mindspore_overflow import HALF

NPY = {"e2e": False, "file_format": "npy"}
BIN = {"e2e": False, "file_format": "bin", "saved_data": "tensor"}
MODEL = """
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3, bias=False)
            self.fc = nn.Linear(8, 2)
        def forward(self, x):
            return self.fc(torch.relu(self.conv(x)).flatten(1))

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.ones(3, 1, 4, 4)).square().sum().backward()
        optimizer.step()
"""
# What CANN's msaccucmp takes for files of a dump.
RAW = re.compile(r"^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([0-9]+)\.?([0-9]+)?\.([0-9]{1,255})(?:\.[0-9]+){0,4}$")
TENSOR = re.compile(r"^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.(\d+)\.(\d+)\.(\d{16})\.(input|output)\.(\d+)\.(\w+)\.([a-z0-9]+)\.npy$")
OP_DEBUG = re.compile(r"^Opdebug\.Node_OpDebug\.(\d+)\.(\d+)\.(\d{16})(\.output\.0\.json)?$")
# CANN's message, as far as it is needed here.
PROTO = """
    syntax = "proto3";
    package toolkit.dumpdata;
    message Shape { repeated uint64 dim = 1; }
    message OpOutput { int32 data_type = 1; int32 format = 2; Shape shape = 3; bytes data = 5; uint64 size = 6; Shape original_shape = 7; }
    message OpInput { int32 data_type = 1; int32 format = 2; Shape shape = 3; bytes data = 4; uint64 size = 5; Shape original_shape = 6; }
    message DumpData { string version = 1; uint64 dump_time = 2; repeated OpOutput output = 3; repeated OpInput input = 4; string op_name = 6; }
"""


def files(dump, step, pattern="*"):
    """The files of a step: {root}/{step}/{time}/{device}/{net}/{graph}/{step}/."""
    root = dump.path.parent
    found = [p for p in root.glob(f"{step}/*/*/net/*/{step}/{pattern}") if p.is_file()]
    for path in found:
        assert re.fullmatch(r"\d+/\d{14}/\d+/net/\d+/\d+", str(path.parent.relative_to(root))), path
    return sorted(found)


def test_the_tree_of_npy_files(opdump):
    dump = opdump.run(MODEL, **NPY, saved_data="full")
    for step in range(3):
        found = files(dump, step, "*.npy")
        assert found and all(TENSOR.match(path.name) for path in found)
        times = {path.relative_to(dump.path.parent).parts[1] for path in found}
        assert len(times) == 1
        table = pd.read_csv(found[0].parent / "statistic.csv", index_col=False)
        assert len(table) == len(found)
        tasks = {(m[2], m[3]) for m in (TENSOR.match(path.name) for path in found)}
        assert tasks == {(name, str(task)) for name, task in zip(table["Op Name"], table["Task ID"])}
    assert len({TENSOR.match(path.name)[3] for path in files(dump, 0, "*.npy")}) > 5, "every operator has its task"
    formats = {TENSOR.match(path.name)[8] for path in files(dump, 0, "convolution.*")}
    assert formats == {"NCHW"}
    assert {TENSOR.match(path.name)[8] for path in files(dump, 0, "addmm.*")} == {"ND"}
    assert not (dump.path / "graphs").exists() and not (dump.path / ".dump_metadata").exists()
    for path in files(dump, 0):
        assert path.stat().st_mode & 0o777 <= 0o640 and path.stat().st_size > 0


def test_the_mode_without_e2e_is_o2_and_the_format_bin(opdump):
    dump = opdump.run(MODEL, e2e=False, iteration="1", saved_data="tensor")
    names = [path.name for path in files(dump, 1)]
    assert names and all(RAW.match(name) for name in names), names
    assert not list(dump.path.parent.rglob("*.npy"))


@pytest.mark.skipif(not shutil.which("protoc"), reason="protoc reads the containers")
def test_containers_are_read_by_protoc(opdump):
    dump = opdump.run(MODEL, **BIN, iteration="1")
    (path,) = files(dump, 1, "addmm.*")
    blob = path.read_bytes()
    (length,) = struct.unpack_from("<Q", blob)
    proto = opdump.directory / "dump_data.proto"
    proto.write_text(PROTO)
    decoded = subprocess.run(["protoc", f"--proto_path={proto.parent}", "--decode=toolkit.dumpdata.DumpData", proto.name],
                             input=blob[8:8 + length], capture_output=True)
    text = decoded.stdout.decode()
    assert decoded.returncode == 0 and 'op_name: "Default/fc-Linear/addmm-op0"' in text, decoded.stderr
    assert 'version: "2.0"' in text and text.count("input {") == 3 and text.count("output {") == 1
    sizes = [int(size) for size in re.findall(r"^  size: (\d+)$", text, re.M)]
    assert sorted(sizes) == sorted([2 * 4, 3 * 8 * 4, 8 * 2 * 4, 3 * 2 * 4])
    assert len(blob) == 8 + length + sum(sizes)
    # The last bytes are the output's; the same run as .npy files says what they are.
    output = np.frombuffer(blob[-24:], np.float32).reshape(3, 2)
    npy = opdump.run(MODEL, **NPY, saved_data="tensor", iteration="1")
    assert np.array_equal(np.load(files(npy, 1, "addmm.*.output.0.*")[0]), output)


def test_containers_are_shown_and_compared(opdump):
    bin_dump = opdump.run(MODEL, **BIN)
    npy_dump = opdump.run(MODEL, **NPY, saved_data="tensor")
    done = subprocess.run([OPDUMP, "show", bin_dump.path.parent, "--op", "relu-op0", "--step", "2"], capture_output=True, text=True)
    assert done.returncode == 0 and "input.0" in done.stdout and "values" in done.stdout, done.stderr
    done = subprocess.run([OPDUMP, "compare", npy_dump.path.parent, bin_dump.path.parent], capture_output=True, text=True)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout + done.stderr
    tree = opdump.run(MODEL, saved_data="tensor")
    done = subprocess.run([OPDUMP, "compare", tree.path.parent, bin_dump.path.parent], capture_output=True, text=True)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout + done.stderr


def test_overflow_as_json(opdump):
    dump = opdump.run(HALF.replace("step == 1", "step == 2"), **NPY, op_debug_mode=3, saved_data="full")
    found = files(dump, 0, "Opdebug.*")
    assert len(found) == 2, "one for each operator that overflowed"
    found += files(dump, 1, "Opdebug.*")
    assert {path.parent.parent.name for path in found} == {"0", "1"}, "the weights are made in step 0"
    tensors = {}
    for path in files(dump, 0, "*.npy"):
        match = TENSOR.match(path.name)
        tensors.setdefault((int(match[3]), int(match[4])), set()).add(match[1])
    everything = dict(tensors)
    for path in found:
        text = path.read_text()
        record = json.loads(text)
        assert text == json.dumps(record, sort_keys=True, separators=(",", ":"))
        assert set(record) == {"AI Core", "DHA Atomic Add", "L2 Atomic Add"}
        core = record["AI Core"]
        assert core["status"] != 0 and set(core) == {
            "block_idx", "kernel_code", "model_id", "para_base", "pc_start", "status", "stream_id", "task_id", "task_type"}
        match = OP_DEBUG.match(path.name)
        assert match[4] and int(match[1]) == core["task_id"]
        assert core["model_id"] == int(path.parent.parent.name)
        assert (core["task_id"], core["stream_id"]) in everything
        tensors.pop((core["task_id"], core["stream_id"]), None)
    assert not tensors, "every tensor belongs to an operator that overflowed"
    assert json.loads((dump.path.parent / "acl_dump_0.json").read_text())["dump"]["dump_debug"] == "on"


def test_overflow_in_containers(opdump):
    dump = opdump.run(HALF, **BIN, op_debug_mode=3, overflow_number=2)
    found = files(dump, 0)
    records = [path for path in found if OP_DEBUG.match(path.name)]
    assert len(records) == 2 and len(found) == 4, "overflow_number counts operators"
    for path in records:
        blob = path.read_bytes()
        (length,) = struct.unpack_from("<Q", blob)
        assert len(blob) == 8 + length + 2048
        words = struct.unpack_from("<6Q", blob, 8 + length + 256)  # model, stream, task, task type, pc, parameters
        assert words[2] == int(OP_DEBUG.match(path.name)[1])


def test_what_is_written_in_place(opdump):
    """A container is written when the call ends: its inputs are those of before."""
    dump = opdump.run("""
        import torch
        small, large = torch.ones(4), torch.ones(400, 400)
        small.mul_(3); large.mul_(3)
    """, **BIN)
    for path in files(dump, 0, "mul_.*"):
        blob = path.read_bytes()
        (length,) = struct.unpack_from("<Q", blob)
        payload = blob[8 + length:]  # the tensor, the factor (a double), the result
        size = (len(payload) - 8) // 2
        assert size in (4 * 4, 4 * 160000)
        assert (np.frombuffer(payload[:size], np.float32) == 1).all()
        assert (np.frombuffer(payload[-size:], np.float32) == 3).all()


def test_acl_dump_of_a_run(opdump):
    dump = opdump.run(MODEL, **NPY, saved_data="tensor", iteration="1", dump_mode=1, kernels=["relu", "Default/fc-Linear/addmm-op0"],
                      input_output=2)
    assert {path.name.split(".")[0] for path in files(dump, 1, "*.npy")} == {"relu", "addmm"}
    path = dump.path.parent / "acl_dump_0.json"
    text = path.read_text()
    # After the last step comes one that is not selected.
    assert json.loads(text) == {"dump": {
        "dump_list": [{"layer": ["relu", "Default/fc-Linear/addmm-op0"]}], "dump_mode": "output", "dump_op_switch": "on",
        "dump_path": str(dump.path.parent), "dump_step": "2147483647"}}
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert path.stat().st_mode & 0o777 == 0o400


def test_acl_dump_of_a_selected_step(opdump):
    dump = opdump.run("""
        import glob, opdump, torch
        torch.ones(2).neg()
        print(open(glob.glob("dump1/acl_dump_0.json")[0]).read())
    """, **NPY, saved_data="tensor")
    root = dump.path.parent
    assert dump.out.strip() == (f'{{"dump":{{"dump_list":[],"dump_mode":"all","dump_op_switch":"on","dump_path":"{root}/0"}}}}')


@pytest.mark.parametrize("by", ["variable", "option"])
def test_the_graph_engine(opdump, by):
    where = {"env": {"ENABLE_MS_GE_DUMP": "1"}} if by == "variable" else {"mode": "ge"}
    dump = opdump.run(MODEL, **NPY, saved_data="tensor", iteration="1", **where)
    root = dump.path.parent
    found = list(root.rglob("*.npy"))
    assert found and all(re.fullmatch(r"\d{14}/0/net/\d+/1", str(path.parent.relative_to(root))) for path in found)
    assert not (root / "acl_dump_0.json").exists()


def test_a_part_of_a_name_is_enough_for_a_regular_expression(opdump):
    searching = opdump.run(MODEL, **NPY, saved_data="tensor", dump_mode=1, kernels=["name-regex(addmm)"])
    assert {path.name.split(".")[0] for path in files(searching, 0, "*.npy")} == {"addmm"}
    matching = opdump.run(MODEL, saved_data="tensor", dump_mode=1, kernels=["name-regex(addmm)"])
    assert not list(matching.path.parent.rglob("*.npy"))


def test_permissions(opdump):
    dump = opdump.run(MODEL, **NPY, saved_data="full", iteration="0")
    for path in pathlib.Path(dump.path.parent).rglob("*"):
        mode = path.stat().st_mode & 0o777
        assert mode == 0o700 if path.is_dir() else mode & 0o077 == 0, path
