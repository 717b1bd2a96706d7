"""acl.json on a real training: the same tensors and statistics as in MindSpore's tree, in CANN's files, which protoc
decodes with CANN's schema."""

import json
import os
import pathlib
import re
import stat
import struct
import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from conftest import sanitise

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))

TRAINING = """
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)
            self.norm = nn.BatchNorm2d(4)
            self.fc = nn.Linear(144, 5)

        def forward(self, x):
            return self.fc(torch.relu(self.norm(self.conv(x))).flatten(1)).half().float()

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(3):
        optimizer.zero_grad()
        x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)
        nn.functional.cross_entropy(net(x), torch.tensor([1, 2])).backward()
        optimizer.step()
        print(net.fc.bias.detach().numpy().tobytes().hex())
"""
DTYPES = {1: "<f4", 2: "<f2", 7: "<i4", 8: "<i8", 11: "?", 12: "<f8"}
FILE = re.compile(r"^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[0-9]+\.[0-9]+\.[0-9]{16}$")  # as CANN's tools know them


@pytest.fixture(scope="module")
def dump_data(tmp_path_factory):
    """The message class that protoc makes of CANN's schema."""
    text = (pathlib.Path(__file__).resolve().parents[1] / "interop/test_calls.py").read_text()
    path = tmp_path_factory.mktemp("schema")
    (path / "dump.proto").write_text(re.search(r'SCHEMA = """\n(.*?)"""', text, re.S)[1])
    subprocess.run(["protoc", f"--proto_path={path}", f"--descriptor_set_out={path}/dump.bin", "dump.proto"], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString((path / "dump.bin").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    message = pool.FindMessageTypeByName("toolkit.dumpdata.DumpData")
    if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22; newer ones have nothing else
        return message_factory.GetMessageClass(message)
    return message_factory.MessageFactory(pool).GetPrototype(message)


def decode(dump_data, path):
    """(message, {"input.0": array})"""
    data = path.read_bytes()
    [length] = struct.unpack("<Q", data[:8])
    message = dump_data.FromString(data[8:8 + length])
    offset, arrays = 8 + length, {}
    for side, entries in (("input", message.input), ("output", message.output)):
        for index, entry in enumerate(entries):
            if entry.data_type == 0:
                continue
            array = np.frombuffer(data, DTYPES[entry.data_type], offset=offset,
                                  count=entry.size // np.dtype(DTYPES[entry.data_type]).itemsize)
            arrays[f"{side}.{index}"] = array.reshape(list(entry.shape.dim))
            assert list(entry.original_shape.dim) == list(entry.shape.dim)
            assert entry.format == (0 if array.reshape(list(entry.shape.dim)).ndim == 4 else 2)
            offset += entry.size
    assert offset == len(data)
    return message, arrays


class Acl:
    """Runs programs with an acl.json whose dump_path is a directory of its own."""

    def __init__(self, runner):
        self.runner = runner
        self.root = runner.directory / "acl"
        self.root.mkdir()

    def run(self, text, expect=0, env=None, **dump):
        path = self.runner.directory / "acl.json"
        path.write_text(json.dumps({"dump": {"dump_path": str(self.root), **dump}}))
        result = self.runner.run(text, expect=expect, config=path, env=env)
        result.path = self.root / "rank_0"
        return result

    def files(self, pattern="2*/**/*"):
        return sorted(path for path in self.root.glob(pattern) if path.is_file())


@pytest.fixture
def acl(opdump):
    return Acl(opdump)


def bits(array):
    return array.shape, array.dtype.str, array.tobytes()


def test_the_same_tensors_as_in_the_other_tree(opdump, acl, dump_data):
    reference = opdump.run(TRAINING, saved_data="tensor")
    dump = acl.run(TRAINING, dump_mode="all", dump_list=[{"model_name": "program"}])
    assert dump.out == reference.out == opdump.plain(TRAINING).stdout
    expected = {(step, *key): np.load(path) for step in reference.steps() for key, path in reference.files(step).items()}
    found = {}
    for path in acl.files():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and FILE.match(path.name), path
        device, model, graph, step = path.parent.relative_to(acl.root).parts[1:]
        assert (device, model) == ("0", "program") and graph.isdigit()
        message, arrays = decode(dump_data, path)
        assert message.version == "2.0" and path.name.endswith(f".{message.dump_time}")
        assert sanitise(message.op_name) == path.name.split(".")[1]
        for slot, array in arrays.items():
            found[int(step), path.name.split(".")[1], slot] = array
    assert found.keys() == expected.keys() and len(found) > 200
    assert all(bits(found[key]) == bits(expected[key]) for key in expected)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in acl.root.glob("2*/**") if path.is_dir())
    assert dump.status["state"] == "complete"


def test_the_same_statistics_as_numpy(opdump, acl, dump_data):
    acl.run(TRAINING, dump_mode="all", dump_data="stats", dump_step="1", dump_list=[{}])
    reference = opdump.run(TRAINING, saved_data="tensor", iteration="1")
    tensors = {key: np.load(path) for key, path in reference.files(1).items()}
    rows = 0
    for path in acl.files():
        assert path.parent.name == "1"
        header, *lines = path.read_text().splitlines()
        assert header == ("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
                          "Negative Inf Count,Positive Inf Count")
        for line in lines:
            side, index, size, dtype, format_, shape, *values = line.split(",")
            tensor = tensors.pop((path.name.split(".")[1], f"{side.lower()}.{index}"))
            assert int(size) == tensor.nbytes and dtype.startswith("DT_")
            assert shape == ("x".join(map(str, tensor.shape)) or "-") and format_ == ("NCHW" if tensor.ndim == 4 else "ND")
            as_double = tensor.astype("f8")
            assert values[0] == f"{as_double.max():g}" and values[1] == f"{as_double.min():g}"
            assert float(values[2]) == pytest.approx(as_double.mean(), rel=1e-5, abs=1e-7)
            assert values[3:] == [str(tensor.size), "0", "0", "0"]
            rows += 1
    assert not tensors and rows > 60


def test_layers_blacklists_and_modes(acl, dump_data):
    dump = acl.run(TRAINING, dump_mode="input", dump_level="op", dump_step="0|2",
                   dump_list=[{"layer": ["Default/conv-Conv2d/convolution-op0", "Default/nothing"],
                               "opname_blacklist": [{"name": "Default/conv-Conv2d/convolution-op0", "pos": ["input0"]}]}])
    assert [path.parent.name for path in acl.files()] == ["0", "2"]
    for path in acl.files():
        message, arrays = decode(dump_data, path)
        assert {slot: array.shape for slot, array in arrays.items()} == {"input.0": (4, 3, 3, 3), "input.1": (4,)}
        assert not message.output
    assert "no operator is the layer 'Default/nothing'" in dump.err


def test_operators_of_no_model(acl):
    acl.run(TRAINING, dump_list=[{}], dump_level="kernel")
    files = acl.files()
    assert len(files) > 60 and {path.parent.relative_to(acl.root).parts[1:] for path in files} == {("0",)}


def test_a_configuration_that_asks_for_nothing(acl):
    dump = acl.run(TRAINING)
    assert "asks for nothing" in dump.err and not list(acl.root.iterdir())


def test_overflow(acl, dump_data):
    acl.run("""
        import torch
        x = torch.full((4,), 60000.).half()
        y = x + x
        z = torch.ones(3) * 2
        """, dump_debug="on")
    record, operator = acl.files()
    assert re.match(r"Opdebug\.Node_OpDebug\.\d+\.0\.\d{16}$", record.name) and operator.name.startswith("add.")
    message, arrays = decode(dump_data, operator)
    assert set(arrays) == {"input.0", "input.1", "output.0"} and np.isinf(arrays["output.0"]).all()
    [length] = struct.unpack("<Q", record.read_bytes()[:8])
    info = struct.unpack("<6Q", record.read_bytes()[8 + length + 256:][:48])
    assert info[2] == int(operator.name.split(".")[2]), "the record names the operator's task"


def test_exception(acl, tmp_path, dump_data):
    elsewhere = tmp_path / "elsewhere"
    program = "import torch; a = torch.arange(6.).view(2, 3); torch.relu(a); a @ a"
    for env, root in ({}, acl.root), ({"ASCEND_WORK_PATH": str(elsewhere)}, elsewhere):
        acl.run(program, expect=1, env=env, dump_scene="aic_err_brief_dump")
        [path] = (root / "extra-info/data-dump/0").iterdir()
        assert re.match(r"exception_info\.\d+\.0\.\d{16}$", path.name)
        message, arrays = decode(dump_data, path)
        assert arrays["input.0"].tolist() == [[0, 1, 2], [3, 4, 5]] and not message.output


def test_where_nothing_fails_nothing_is_left(acl):
    done = acl.run("import torch; torch.ones(2).relu()", dump_scene="lite_exception")
    assert "no operator failed: nothing is saved" in done.err and not list(acl.root.iterdir())


def test_another_run_adds_a_directory_of_its_time(acl, opdump):
    """As CANN does: the dump_path of a program is that of all its runs."""
    program = "import torch; torch.ones(2).relu()"
    (opdump.directory / "acl.json").write_text(json.dumps({"dump": {"dump_path": str(acl.root), "dump_list": [{}]}}))
    words = [os.environ["OPDUMP_BIN"], "run", "--config", "acl.json", "--", "/usr/bin/python3", "-c", program]
    for _ in range(2):
        assert subprocess.run(words, cwd=opdump.directory, check=True).returncode == 0
    together = [subprocess.Popen(words, cwd=opdump.directory) for _ in range(2)]
    assert [process.wait() for process in together] == [0, 0]
    times = sorted(acl.root.glob("2*"))
    assert len(list(acl.root.glob("2*/0/*/*/*/relu.*"))) == len(times) == 4
    for one in times[-1], acl.root:  # that others recorded there at once is no lack of it
        done = subprocess.run([os.environ["OPDUMP_BIN"], "compare", times[-2], one], capture_output=True, text=True)
        assert done.returncode == 0 and "no difference: " in done.stdout, done.stdout


def test_without_a_dump_nothing_is_dumped(opdump):
    (opdump.directory / "acl.json").write_text("{}")
    words = [os.environ["OPDUMP_BIN"], "run", "--config", "acl.json", "--", "/usr/bin/python3", "-c", "import torch; print(torch.ones(1) + 1)"]
    done = subprocess.run(words, cwd=opdump.directory, capture_output=True, text=True, check=True)
    assert done.stdout == "tensor([2.])\n" and "acl.json asks for nothing" in done.stderr


def test_device_formats(acl, dump_data):
    acl.run(TRAINING, env={"OPDUMP_DEVICE_FORMAT": "NC1HWC0"}, dump_step="0",
            dump_list=[{"layer": ["Default/conv-Conv2d/convolution-op0"]}])
    [path] = acl.files()
    data = path.read_bytes()
    [length] = struct.unpack("<Q", data[:8])
    [output] = dump_data.FromString(data[8:8 + length]).output
    assert output.format == 3
    assert list(output.shape.dim) == [2, 1, 6, 6, 16] and list(output.original_shape.dim) == [2, 4, 6, 6]
    values = np.frombuffer(data[8 + length:], "<f4").reshape(2, 6, 6, 16)
    assert values[..., :4].any() and not values[..., 4:].any()


def test_the_watcher_names_who_overwrote(acl, dump_data):
    dump = acl.run("""
        import ctypes, torch
        a, b = torch.ones(4), torch.empty(4)
        address = b.data_ptr()
        torch.add(a, 1, out=b)
        ctypes.memset(address, 0, 4)
        c = a * 2
        b.add_(1)
        d = a * 3
        """, dump_scene="watcher", dump_list=[{"layer": ["Default/mul-op0", "Default/mul-op1"],
                                               "watcher_nodes": ["Default/add-op0"]}])
    assert "add-op0 was overwritten while Default/mul-op0 ran, which had not declared the write" in dump.err
    assert "add-op0 was written to by Default/add_-op0, which had declared the write" in dump.err
    assert len(dump.status["warnings"]) == 2
    outputs = {path.name.split(".")[1]: decode(dump_data, path)[1]["output.0"].tolist() for path in acl.files()}
    assert outputs == {"Default_add-op0": [2, 2, 2, 2], "Default_mul-op0_To_Default_add-op0": [0, 2, 2, 2],
                       "Default_mul-op1_To_Default_add-op0": [1, 3, 3, 3]}
