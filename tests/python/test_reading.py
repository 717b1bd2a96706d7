"""opdump.open: operators, slots, arrays, tables."""

import gc
import pathlib
import struct

import numpy as np
import pytest

import opdump

NET = """
    import opdump, torch
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with opdump.dump("data_dump.json"):
        for step in range(3):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            if step == 1:
                net[2].weight.detach().numpy()[:] += {fault}
"""


@pytest.fixture(scope="module")
def dumps(tmp_path_factory, make_program):
    """Two runs, the second with a fault after step 1."""
    directory = tmp_path_factory.mktemp("dumps")
    program = make_program(directory)
    for path, fault in (("golden", 0), ("actual", 5)):
        program.config(path, saved_data="full" if path == "golden" else "tensor")
        program.run(NET.format(fault=fault))
    return directory


def test_operators_and_slots(dumps):
    dump = opdump.open(dumps / "golden")
    assert (dump.ranks, dump.steps, dump.problems) == ([0], [0, 1, 2], [])
    assert len(dump) == len(dump.operators) == len(list(dump)) > 50
    op = dump["Default/0-Linear/addmm-op0"]
    assert (op.type, op.phase, op.source, op.rank, op.step) == ("addmm", "forward", "program.py:9", 0, 0)
    assert [slot.name for slot in op.slots] == ["input.0", "input.1", "input.2", "output.0"]
    assert [slot.name for slot in op.inputs] == ["input.0", "input.1", "input.2"] and len(op.outputs) == 1
    slot = op["output.0"]
    assert (slot.side, slot.index, slot.dtype, slot.shape) == ("output", 0, "float32", (2, 4))
    assert slot.file.suffix == ".npy" and slot.file.is_relative_to(dumps / "golden")
    assert slot.operator.name == op.name
    with pytest.raises(KeyError, match=r"output.7 \(there are input.0, input.1"):
        op["output.7"]
    assert dump.statuses[0]["state"] == "complete"


def test_mistakes_are_python_errors(dumps, tmp_path):
    dump = opdump.open(dumps / "golden")
    for key in (0, None, 1.5):
        with pytest.raises(TypeError, match=r"by their names, not by \w+; the first one is operators\[0\]"):
            dump[key]
    with pytest.raises(TypeError, match="name must be a str, not int"):
        dump.find(0)
    for argument in ({"rtol": "x"}, {"atol": []}, {"threads": "2"}):
        with pytest.raises(TypeError, match=f"{next(iter(argument))} must be"):
            opdump.compare(dump, dump, **argument)
    for argument in ({"rtol": -1}, {"atol": float("nan")}, {"threads": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(argument))} is"):
            opdump.compare(dump, dump, **argument)
    with pytest.raises(ValueError, match='configuration:1:1: not a known configuration.*; "dump_mode" belongs in common_dump_settings'):
        opdump.plan({"dump_mode": 0, "net_name": "n"})
    assert opdump.plan({})["is_empty"]  # a program of CANN may start with it
    with pytest.raises(TypeError, match="must be the path of a configuration or a dict, not int"):
        opdump.plan(5)
    common = {"dump_mode": 0, "path": str(tmp_path), "net_name": "n", "iteration": "0|2"}
    assert opdump.plan({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}})["steps"] == "0|2"


def test_finding(dumps):
    dump = opdump.open(dumps / "golden")
    assert [op.step for op in dump.find("0-Linear/addmm-op0")] == [0, 1, 2]
    assert {op.type for op in dump.find(type="addmm", step=1)} == {"addmm"}
    assert all("Gradients" in op.name for op in dump.find("Gradients"))
    assert dump.find("nothing") == []
    with pytest.raises(KeyError, match="nothing is not an operator of"):
        dump["nothing"]


def test_large_arrays_are_the_mapped_file(tmp_path):
    path, values = tmp_path / "conv1.npy", np.arange(1 << 18, dtype="f4").reshape(2, -1)
    np.save(path, values)
    slot = opdump.open(tmp_path)["conv1"]["output.0"]
    array = slot.numpy()
    np.testing.assert_array_equal(array, values)
    assert not array.flags.writeable and not array.flags.owndata
    assert str(path) in pathlib.Path("/proc/self/maps").read_text()
    del slot
    gc.collect()
    view = array[0]
    del array
    gc.collect()
    np.testing.assert_array_equal(view, values[0])  # the file is mapped as long as a view of it lives
    del view
    gc.collect()
    assert str(path) not in pathlib.Path("/proc/self/maps").read_text()


def test_small_arrays_are_read(dumps):
    slot = opdump.open(dumps / "golden")["0-Linear/addmm-op0"]["output.0"]
    array, path = slot.numpy(), slot.file
    del slot
    gc.collect()
    np.testing.assert_array_equal(array, np.load(path))
    assert not array.flags.writeable and not array.flags.owndata
    assert str(path) not in pathlib.Path("/proc/self/maps").read_text()


def test_slots_without_data(dumps):
    slot = opdump.open(dumps / "golden")["0-Linear/t-op0"]["output.0"]
    assert (slot.file, slot.reason, slot.statistics()) == (None, "view", {})
    with pytest.raises(opdump.NotFoundError, match="no tensor: view") as caught:
        slot.numpy()
    assert caught.value.code == "not_found"


def test_tables(dumps):
    dump = opdump.open(dumps / "golden")
    slots, statistics = dump.to_frame(), dump.statistics()
    assert len(slots) == len(statistics) == sum(len(op.slots) for op in dump)
    assert list(slots.columns) == ["rank", "step", "graph", "operator", "type", "phase", "source", "slot", "dtype", "shape",
                                   "format", "file", "reason"]
    row = statistics[(statistics.operator == "Default/0-Linear/addmm-op0") & (statistics.slot == "output.0")].iloc[0]
    array = dump["0-Linear/addmm-op0"]["output.0"].numpy()
    assert row["Max Value"] == pytest.approx(array.max(), rel=1e-5) and row["shape"] == (2, 4)


def test_statistics_of_tensors(dumps):
    """Computed where the dump keeps tensors only."""
    dump = opdump.open(dumps / "actual")
    computed = dump["0-Linear/addmm-op0"]["output.0"].statistics()
    array = dump["0-Linear/addmm-op0"]["output.0"].numpy()
    assert computed["Min Value"] == pytest.approx(array.min(), rel=1e-5) and computed["Count"] == 8
    assert "Max Value" in dump.statistics() and "Max Value" not in dump.statistics(compute=False)


def test_comparison(dumps):
    same = opdump.compare(dumps / "golden", str(dumps / "golden"))
    assert same.ok and same.outcome == "same" and same.first_bad is None
    golden = opdump.open(dumps / "golden")
    result = opdump.compare(golden, dumps / "actual")
    assert not result.ok and result.outcome == "differs"
    bad = result.first_bad
    assert bad.name == "Default/2-Linear/addmm-op0" and bad.step == 2 and bad.golden.step == 2
    assert np.abs(bad.golden["output.0"].numpy() - bad.actual["output.0"].numpy()).max() > 1
    assert str(result) == result.conclusion and bad.name in str(result) and "cosine" in bad.reason
    frame = result.to_frame()
    assert set(frame[frame.step < 2].verdict) <= {"match", "skipped"}
    assert (frame[frame.step == 2].verdict != "match").any() and frame.cosine.dtype == float
    assert "first bad operator" in result.table()
    assert {op.verdict for op in result.operators} >= {"match"}
    assert opdump.compare(dumps / "golden", dumps / "actual", rtol=0, atol=1e9).ok
    assert result.coverage["compared_slots"] > 50


def test_assert_same(dumps):
    opdump.assert_same(dumps / "golden", dumps / "golden")
    with pytest.raises(AssertionError) as error:
        opdump.assert_same(dumps / "golden", dumps / "actual")
    message = str(error.value)
    assert "mismatched elements: " in message and "first bad operator: Default/2-Linear/addmm-op0" in message
    with pytest.raises(TypeError, match="ambiguous"):
        bool(opdump.compare(dumps / "golden", dumps / "golden"))


def test_shown_in_a_notebook(dumps):
    page = opdump.compare(dumps / "golden", dumps / "actual")._repr_html_()
    assert "<b>differs</b>" in page and "<td>" in page and "addmm" in page
    dump = opdump.open(dumps / "golden")
    assert "addmm" in dump._repr_html_() and "<td>input.0</td>" in dump["2-Linear/addmm-op0"]._repr_html_()
    bad = opdump.compare(dumps / "golden", dumps / "actual").first_bad
    assert f"<td>{bad.slots['output.0'].metrics['mismatch_count']}</td>" in bad._repr_html_()


def test_names_in_a_notebook_are_text(tmp_path):
    path = tmp_path / "<img src=x onerror=alert(1)>.npy"
    np.save(path, np.zeros(2, np.float32))
    page = opdump.open(path)._repr_html_()
    assert "<img" not in page and "&lt;img" in page


def test_lifetime_of_results(dumps):
    """Everything keeps what it points into."""
    bad = opdump.compare(dumps / "golden", dumps / "actual").first_bad
    gc.collect()
    assert bad.golden["output.0"].numpy().shape == (2, 2)


def test_errors(tmp_path):
    with pytest.raises(opdump.NotFoundError) as caught:
        opdump.open(tmp_path / "none")
    assert isinstance(caught.value, FileNotFoundError) and str(tmp_path / "none") in str(caught.value)
    name = "add.Default_add-op0.0.0.1700000000000000.output.0.DefaultFormat.float32.npy"
    place = tmp_path / "rank_0/net/0/0"
    place.mkdir(parents=True)
    np.save(place / name, np.ones(4, "f4"))
    slot = opdump.open(tmp_path)["add-op0"]["output.0"]
    (place / name).write_bytes((place / name).read_bytes()[:130])
    with pytest.raises(opdump.Error, match=name) as caught:
        slot.numpy()
    assert caught.value.code == "corrupt"


def test_plans(tmp_path):
    config = tmp_path / "data_dump.json"
    config.write_text('{"common_dump_settings": {"dump_mode": 0, "path": "/tmp/x", "net_name": "n", "iteration": "0|2"}}')
    assert opdump.plan(config)["steps"] == "0|2"
    config.write_text('{"common_dump_settings": {"dump_mode": 9, "path": "/tmp/x", "net_name": "n"}}')
    with pytest.raises(opdump.ConfigError, match=r"data_dump.json:1:40: dump_mode is 9"):
        opdump.plan(config)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"])
def test_every_dtype_of_numpy(tmp_path, dtype, order):
    place = tmp_path / "rank_0/net/0/0"
    place.mkdir(parents=True)
    array = np.asarray(np.arange(24).reshape(2, 3, 4) % 7, dtype, order)
    np.save(place / f"add.Default_add-op0.0.0.1700000000000000.output.0.DefaultFormat.{array.dtype.name}.npy", array)
    read = opdump.open(tmp_path)["add-op0"]["output.0"].numpy()
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype and read.strides == array.strides


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,)])
def test_shapes_at_the_edge(tmp_path, shape):
    place = tmp_path / "rank_0/net/0/0"
    place.mkdir(parents=True)
    np.save(place / "add.Default_add-op0.0.0.1700000000000000.output.0.DefaultFormat.float32.npy", np.full(shape, 3, "f4"))
    slot = opdump.open(tmp_path)["add-op0"]["output.0"]
    assert slot.numpy().shape == slot.shape == shape
    assert (slot.numpy() == 3).all()


def dump_data(dtype, dims, data):
    """A container of one output, version 2 (cann.md 3.1): enough of its protobuf."""

    def varint(number):
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    def field(number, value):
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        return varint(number << 3 | 2) + varint(len(value)) + value

    shape = field(1, b"".join(varint(d) for d in dims))
    output = field(1, dtype) + field(2, 2) + field(3, shape) + field(6, len(data))
    header = field(1, b"2.0") + field(2, 1700000000000000) + field(3, output) + field(6, b"op")
    return struct.pack("<Q", len(header)) + header + data


@pytest.mark.parametrize("number, name, raw, values", [
    (27, "bfloat16", struct.pack("<3H", 0x3F80, 0xC000, 0x7F80), [1, -2, np.inf]),
    (35, "float8_e4m3", bytes([0x38, 0xC0, 0x7E]), [1, -2, 448]),
    (34, "float8_e5m2", bytes([0x3C, 0xC0, 0x7C]), [1, -2, np.inf]),
])
def test_narrow_floats_are_widened(tmp_path, number, name, raw, values):
    place = tmp_path / "20240101000000/0/net/1/0"
    place.mkdir(parents=True)
    (place / "Add.add.1.2.1700000000000000").write_bytes(dump_data(number, [3], raw))
    slot = opdump.open(tmp_path)["add"]["output.0"]
    assert slot.dtype == name
    read = slot.numpy()
    assert read.dtype == np.float32 and not read.flags.writeable
    np.testing.assert_array_equal(read, np.array(values, "f4"))
