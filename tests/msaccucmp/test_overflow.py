"""`opdump msaccucmp overflow` and Opdebug files."""
import json
import re
import struct

import pytest
from conftest import DATA, NEW, convert, dump_file, files_of, log_of, msaccucmp, needs_data, tensor

ND = 2
CORE = ["model_id", "stream_id", "task_id", "task_type", "context_id", "thread_id", "pc_start", "para_base", "core_id",
        "block_id", "status"]
COPY = CORE[:6] + ["src_addr", "dst_addr", "channel_id", "status"]
CPU = CORE[:5] + ["cpu_id", "thread_id", "status"]


@needs_data
@pytest.mark.parametrize("name", ["old", "new_aic", "invalid"])
def test_reference(name, tmp_path):
    done = msaccucmp("overflow", "-d", DATA / f"synthetic/overflow_{name}", "-out", tmp_path)
    assert done.returncode == 0
    expected = NEW / f"overflow_{name}"
    assert files_of(tmp_path, ".npy", ".json") == files_of(expected, ".npy", ".json")
    [theirs], [ours] = expected.glob("overflow_summary_*.txt"), tmp_path.glob("overflow_summary_*.txt")
    assert ours.read_text() == theirs.read_text()
    assert re.fullmatch(r"overflow_summary_\d{14}.txt", ours.name)
    log = (expected / "stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, f"overflow_{name}") == log_of(log, tmp_path, f"overflow_{name}")


def older_record(task, stream, **status):
    record = bytearray(2048)
    for unit, (info, place) in {"dha": (0, 512), "l2": (128, 768), "core": (256, 1024)}.items():
        if unit in status:
            struct.pack_into("<6Q", record, info, 1, stream, task, 0, 0x1000, 0x2000)
            struct.pack_into("<Q", record, place + (16 if unit == "core" else 0), status[unit])
    return bytes(record)


def newer_record(unit, numbers, version=0, valid=1, length=None):
    data = struct.pack(f"<{len(numbers)}Q", *numbers)
    head = struct.pack("<6I", 0x5a5a5a5a, version, valid, unit, 0, len(data) if length is None else length)
    return (head + data).ljust(2048, b"\0")


def record_file(folder, record, task=9, stream=9, time=100, tail=""):
    return dump_file(folder / f"Opdebug.Node_OpDebug.{task}.{stream}.{time}{tail}", [tensor(4, ND, [len(record)], record)])


def operator_file(folder, name, array, task=3, stream=5, time=200, tail=""):
    number = {"float32": 1, "float16": 2, "int8": 3, "int32": 7, "int64": 8, "bool": 11, "float64": 12, "uint8": 4}[array.dtype.name]
    outputs = [tensor(number, ND, array.shape, array.tobytes())]
    return dump_file(folder / f"Add.{name}.{task}.{stream}.{time}{tail}", outputs, name=f"scope/{name}")


@pytest.mark.parametrize("unit, name, keys", [(0, "AIC", CORE), (1, "AIV", CORE), (2, "AICPU", CPU), (3, "SDMA", COPY)])
@pytest.mark.parametrize("version", [0, 1])
def test_records_as_json(unit, name, keys, version, tmp_path):
    numbers = list(range(1, len(keys) + 1))
    has_list = unit < 2 and version == 1
    file = record_file(tmp_path, newer_record(unit, numbers + [70, 80, 90] * has_list, version))
    done = convert("-d", file, "-out", tmp_path / "out")
    assert done.returncode == 0 and "ERROR" not in done.stderr
    data = {key: hex(value) if key in ("pc_start", "para_base", "src_addr", "dst_addr") else value
            for key, value in zip(keys, numbers)}
    if has_list:
        data["status"] = [len(keys), 70, 80, 90]
    length = 8 * (len(numbers) + 3 * has_list)
    expected = {"magic": "0x5a5a5a5a", "version": version,
                "acc_list": {"valid": 1, "acc_type": name, "rsv": 0, "data_len": length, "data": data}}
    assert (tmp_path / f"out/{file.name}.output.0.json").read_text() == json.dumps(expected, indent=4)


def test_records_that_are_wrong(tmp_path):
    unknown = record_file(tmp_path, newer_record(7, [1] * 11), task=1)
    done = convert("-d", unknown, "-out", tmp_path / "out")
    assert done.returncode == 35 and "The value of 'acc_type' is None, it's invalid" in done.stderr
    short = record_file(tmp_path, bytes(100), task=2)
    done = convert("-d", short, "-out", tmp_path / "out")
    assert done.returncode == 11 and "The data size (100) of output:0 is not equal to 2048" in done.stderr
    odd = record_file(tmp_path, newer_record(0, list(range(11)), valid=0, length=5), task=3)
    done = convert("-d", odd, "-out", tmp_path / "out")
    assert done.returncode == 0
    assert "The value of valid in the OpDebug file is 0, it is not 1" in done.stderr
    assert "The value of data_len in the OpDebug file is 5, it is not equal the expect value 88" in done.stderr


def summary(folder):
    [file] = folder.glob("overflow_summary_*.txt")
    return file.read_text().splitlines()


def test_the_first_ones_by_time(tmp_path):
    numpy = pytest.importorskip("numpy")
    dumps = tmp_path / "dumps/0/net/1/0"
    dumps.mkdir(parents=True)
    for time, task in ((300, 4), (90, 3), (1000, 5)):
        record_file(dumps, older_record(task, 5, core=task), task=task, time=time)
        operator_file(dumps, f"op{task}", numpy.arange(task, dtype="float32"), task=task, time=time + 1)
    out = tmp_path / "out"
    done = msaccucmp("overflow", "-d", tmp_path / "dumps", "-out", out, "-n", 2)
    assert done.returncode == 0 and "Find [3] overflow ops. Will show the top 2." in done.stderr
    lines = summary(out)
    assert [line for line in lines if line.startswith("[")] == ["[Add] scope/op3", "[Add] scope/op4"]
    assert " [timestamp:90]" in lines and " [AI Core][TaskId:4][StreamId:5][Status:4]" in lines
    assert lines[0] == "=" * 49 + "[1]" + "=" * 50
    assert " -[Format: ND] [Shape: (3,)] [Dtype: float32] [Max: 2.0] [Min: 0.0] [Mean: 1.0]" in lines


def test_every_unit_and_the_last_tells(tmp_path):
    numpy = pytest.importorskip("numpy")
    record_file(tmp_path, older_record(3, 5, dha=1, core=16))
    operator_file(tmp_path, "op", numpy.ones(1, "int8"))
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out").returncode == 0
    assert summary(tmp_path / "out")[2:4] == [" [DHA Atomic Add][TaskId:3][StreamId:5][Status:1]",
                                              " [AI Core][TaskId:3][StreamId:5][Status:16]"]


def test_threads_of_an_operator(tmp_path):
    numpy = pytest.importorskip("numpy")
    record_file(tmp_path, newer_record(0, [1, 5, 3, 0, 7, 2, 0, 0, 0, 0, 16]), tail=".4.7.2.0")
    operator_file(tmp_path, "other", numpy.ones(2, "bool"), time=150, tail=".4.7.1.0")
    operator_file(tmp_path, "this", numpy.ones(2, "bool"), time=160, tail=".4.7.2.0")
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out").returncode == 0
    lines = summary(tmp_path / "out")
    assert lines[1] == "[Add] scope/this"
    assert lines[-1] == " -[Format: ND] [Shape: (2,)] [Dtype: bool] [Max: True] [Min: True] [Mean: 1.0]"


def test_without_the_operator(tmp_path):
    record_file(tmp_path, older_record(3, 5, l2=2))
    done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out")
    assert done.returncode == 0 and "Can't find the dump file" in done.stderr
    assert summary(tmp_path / "out")[1:] == [" [L2 Atomic Add][TaskId:3][StreamId:5][Status:2]", " [timestamp:100]"]


def test_status_zero(tmp_path):
    record_file(tmp_path, older_record(3, 5))
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out").returncode == 35
    record_file(tmp_path, newer_record(0, [0] * 11))
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out2").returncode == 36
    assert msaccucmp("overflow", "-d", tmp_path / "nothing", "-out", tmp_path / "out").returncode == 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_numbers_as_numpy_prints_them(dtype, tmp_path):
    numpy = pytest.importorskip("numpy")
    random = numpy.random.default_rng(7)
    for index, count in enumerate([1, 7, 9, 130, 8193, 100001]):
        values = random.standard_normal(count) * 10.0 ** random.integers(-7, 5) * (30 if "int" in dtype else 1)
        array = (values > 0) if dtype == "bool" else values.astype(dtype)
        folder = tmp_path / str(index)
        folder.mkdir()
        record_file(folder, older_record(3, 5, core=1))
        operator_file(folder, "op", array)
        assert msaccucmp("overflow", "-d", folder, "-out", folder / "out").returncode == 0
        assert summary(folder / "out")[-1] == (
            f" -[Format: ND] [Shape: {array.shape}] [Dtype: {dtype}] [Max: {numpy.max(array)!s}] "
            f"[Min: {numpy.min(array)!s}] [Mean: {array.mean()!s}]")


def test_operators_that_cannot_be_read(tmp_path):
    """The exit code is that of the dump file, which is read twice."""
    record_file(tmp_path, older_record(3, 5, core=1))
    for content, status, text in ((b"", 11, "The file size is zero"), (b"\xff" * 20, 11, "must be less than or equal to"),
                                  (bytes(8), 1, "[Overflow] Parsed overflow dump file: Add.op.3.5.200 failed.")):
        (tmp_path / "Add.op.3.5.200").write_bytes(content)
        done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out")
        assert done.returncode == status and text in done.stderr and "took" in done.stderr
        assert done.stderr.count("The file size is zero") in (0, 2)
    dump_file(tmp_path / "Add.op.3.5.200", [tensor(13, ND, (1,), b"text")])
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out").returncode == 21
    dump_file(tmp_path / "Add.op.3.5.200", [tensor(1, ND, (0, 2), b"")])
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out").returncode == 11  # nothing to look at


def test_which_files_belong_to_a_record(tmp_path):
    numpy = pytest.importorskip("numpy")
    one = numpy.ones(1, "int8")
    record_file(tmp_path, newer_record(0, [1, 5, 3, 0, 65535, 65535, 0, 0, 0, 0, 16]))
    for name, more in (("other_task", {"task": 4}), ("other_stream", {"stream": 6}), ("later", {"time": 300}), ("first", {"time": 50})):
        operator_file(tmp_path, name, one, **more)
    (tmp_path / "mapping.csv").write_text("12345,Add.first.3.5.40\n999,Add.gone.3.5.10\n")
    done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out")
    assert done.returncode == 0 and summary(tmp_path / "out")[1] == "[Add] scope/first"
    assert f"the file '999' in mapping.csv is not exist, dir: '{tmp_path}'." in done.stderr
    operator_file(tmp_path, "mapped", one, time=45).rename(tmp_path / "12345")
    assert msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out2").returncode == 0
    assert summary(tmp_path / "out2")[1] == "[Add] scope/mapped"


def test_deep_directories(tmp_path):
    deep = tmp_path / "/".join("d" * 30)
    (deep / "d").mkdir(parents=True)
    record_file(deep, older_record(3, 5, core=1))
    record_file(deep / "d", older_record(3, 5, core=1), time=1)
    done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out", "-n", 5)
    assert done.returncode == 0 and "Find [1] overflow ops. Will show the top 1." in done.stderr
    assert "The current file depth has exceeded the maximum depth limit, which is set to 30." in done.stderr


@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint32", "uint64", "complex64", "complex128", "float16", "float32"])
@pytest.mark.parametrize("special", [None, float("nan"), float("inf")])
def test_other_numbers(dtype, special, tmp_path):
    numpy = pytest.importorskip("numpy")
    number = {"int16": 5, "uint16": 6, "uint32": 9, "uint64": 10, "complex64": 16, "complex128": 17, "float16": 2, "float32": 1}[dtype]
    random = numpy.random.default_rng(5)
    for index, count in enumerate([1, 6, 100, 9000]):
        if numpy.dtype(dtype).kind == "u" or dtype == "int16":
            info = numpy.iinfo(dtype)
            array = random.integers(info.min, info.max, count, dtype, endpoint=True)
        else:
            array = (random.standard_normal(count) + (1j * random.standard_normal(count) if dtype[0] == "c" else 0)).astype(dtype)
            if special is not None:
                array[count // 2] = special
        folder = tmp_path / str(index)
        folder.mkdir()
        record_file(folder, older_record(3, 5, core=1))
        dump_file(folder / "Add.op.3.5.200", [tensor(number, ND, array.shape, array.tobytes())], name="op")
        assert msaccucmp("overflow", "-d", folder, "-out", folder / "out").returncode == 0
        with numpy.errstate(all="ignore"):
            expected = f"[Max: {numpy.max(array)!s}] [Min: {numpy.min(array)!s}] [Mean: {array.mean()!s}]"
        assert summary(folder / "out")[-1].endswith(expected)


def test_a_record_of_two_outputs(tmp_path):
    """Both are converted; which one counts is unknown, and that ends `overflow` without a word."""
    numpy = pytest.importorskip("numpy")
    one, other = older_record(3, 5, core=1), older_record(4, 5, core=1)
    outputs = [tensor(4, ND, [len(record)], record) for record in (one, other)]
    file = dump_file(tmp_path / "Opdebug.Node_OpDebug.9.9.100", outputs)
    done = convert("-d", file, "-out", tmp_path / "converted")
    assert done.returncode == 0
    tasks = [json.loads((tmp_path / f"converted/{file.name}.output.{i}.json").read_text())["AI Core"]["task_id"] for i in (0, 1)]
    assert tasks == [3, 4]
    done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out")
    assert done.returncode == 17 and "WARNING" not in done.stderr and "ERROR" not in done.stderr and "took" in done.stderr
    assert not list((tmp_path / "out").glob("*.txt"))
    # Of a second one that cannot be read nothing is left to choose from.
    outputs[1] = tensor(4, ND, [4], b"1234")
    dump_file(file, outputs)
    operator_file(tmp_path, "op", numpy.ones(1, "int8"))
    done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out2")
    assert done.returncode == 0 and "Failed to parse dump file" in done.stderr
    assert summary(tmp_path / "out2")[1] == "[Add] scope/op"


def test_a_record_by_a_number(tmp_path):
    """Its name then does not say that it is a record, and no JSON is made of it."""
    record_file(tmp_path, older_record(3, 5, core=1)).rename(tmp_path / "12345")
    (tmp_path / "mapping.csv").write_text("12345,Opdebug.Node_OpDebug.9.9.100\n")
    done = msaccucmp("overflow", "-d", tmp_path, "-out", tmp_path / "out")
    assert done.returncode == 4 and "[Overflow] Parsed overflow debug file: 12345 failed." in done.stderr
