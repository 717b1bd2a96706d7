"""`opdump msaccucmp compare` of two HDF5 files as PyTorch's dumper writes them."""
import csv
import os
import subprocess

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
CPU, NPU = 0, 10


def compare(*arguments):
    return subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", "compare", *map(str, arguments)],
                          capture_output=True, text=True)


def write(path, device, tensors):
    """{path: array, or (array, DataType)}; float tensors if nothing else is said."""
    with h5py.File(path, "w") as file:
        for name, value in tensors.items():
            array, kind = value if isinstance(value, tuple) else (value, 1)
            dataset = file.create_dataset(name, data=array)
            dataset.attrs["DeviceType"] = np.int32(device)
            dataset.attrs["DataType"] = np.int32(kind)
            dataset.attrs["FormatType"] = np.int32(0)
            dataset.attrs["Type"] = np.int32(0)
            strides = [step // array.itemsize for step in np.ascontiguousarray(array).strides]
            dataset.attrs["Stride"] = np.array(strides, np.int64)
    return path


def rows_in(folder):
    [table] = folder.glob("result_*.csv")
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def sides(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    mine = {"/add_Tensor/1/input/self": x, "/add_Tensor/1/output/result": x + 1, "/add_Tensor/7/input/self": x,
            "/add_Tensor/7/output/result": x * 2,
            "/NpuConvolutionBackward/9/input/input": x, "/NpuConvolutionBackward/9/output/grad": x,
            "/mean/11/input/self": (x.astype(np.int32), 6), "/mean/11/output/result": x[:1]}
    golden = {"/add_Tensor/2/input/self": x, "/add_Tensor/2/output/result": x + 1, "/add_Tensor/5/input/self": x,
              "/add_Tensor/5/output/result": -x,
              "/ThnnConvDepthwise2DBackward/6/input/self": x, "/ThnnConvDepthwise2DBackward/6/output/grad": x,
              "/mean/8/input/self": (x.astype(np.int64), 7), "/mean/8/output/result": x,
              "/mul/4/output/result": x}
    return write(tmp_path / "npu.h5", NPU, mine), write(tmp_path / "cpu.h5", CPU, golden)


def test_executions_pair_by_their_number(sides, tmp_path):
    done = compare("-m", sides[0], "-g", sides[1], "-out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = rows_in(tmp_path / "out")
    assert list(rows[0])[:7] == ["Index", "NPUDump", "NPUDumpPath", "GroundTruthPath", "DataType", "Shape",
                                 "CosineSimilarity"]
    assert [(row["Index"], row["NPUDump"], row["GroundTruthPath"], row["CosineSimilarity"]) for row in rows] == [
        ("1", "add_Tensor", "/add_Tensor/2/input/self", "1.000000"),
        ("1", "add_Tensor", "/add_Tensor/2/output/result", "1.000000"),
        ("7", "add_Tensor", "/add_Tensor/5/input/self", "1.000000"),
        ("7", "add_Tensor", "/add_Tensor/5/output/result", "-1.000000"),
        ("9", "NpuConvolutionBackward", "/ThnnConvDepthwise2DBackward/6/input/self", "1.000000"),
        ("9", "NpuConvolutionBackward", "/ThnnConvDepthwise2DBackward/6/output/grad", "1.000000"),
        ("11", "mean", "/mean/8/input/self", "1.000000"), ("11", "mean", "/mean/8/output/result", "NaN"),
        ("12", "NaN", "/mul/4", "NaN")]
    assert [row["DataType"] for row in rows] == ["float32"] * 6 + ["int32", "NaN", "NaN"]
    assert rows[0]["Shape"] == "[2,3]"
    assert "can not be compared to the right dump data(6)" in rows[7]["CompareFailReason"]
    assert rows[8]["CompareFailReason"] == "No data match with /mul/4 in my dump data."


def test_bad_tensors_are_extracted(sides, tmp_path):
    assert compare("-m", sides[0], "-g", sides[1], "-p", "1", "-out", tmp_path / "out").returncode == 0
    [folder] = (tmp_path / "out").glob("result_*_filtered")
    with open(folder / "filtered_result.csv", newline="") as file:
        assert [row["Index"] for row in csv.DictReader(file)] == ["7", "11", "12"]
    array = np.load(folder / "gold_dump/add_Tensor/5/output/result.npy")
    assert (array == -np.arange(6).reshape(2, 3)).all()
    assert (folder / "my_dump/add_Tensor/7/output/result.npy").exists()


def test_without_inputs_numbers_are_the_same(tmp_path):
    x = np.ones((2, 2), np.float32)
    mine = write(tmp_path / "npu.h5", NPU, {"/add/4/output/result": x})
    golden = write(tmp_path / "gpu.h5", 1, {"/add/3/output/result": x, "/add/4/output/result": x * 3,
                                            "/add/4/input/self": x})
    assert compare("-m", mine, "-g", golden, "-out", tmp_path / "out").returncode == 0
    rows = rows_in(tmp_path / "out")
    assert rows[0]["GroundTruthPath"] == "/add/4/output/result"
    assert rows[0]["MaxAbsoluteError"] == "2.000000"


def test_wrong_use(sides, tmp_path):
    mine, golden = sides
    assert compare("-m", golden, "-g", mine, "-out", tmp_path).returncode == 11  # not of the accelerator
    for option in (["-op", "x"], ["-v", "1"], ["-f", mine], ["-c", tmp_path]):
        assert compare("-m", mine, "-g", golden, *option, "-out", tmp_path).returncode == 6
    assert compare("-m", mine, "-g", golden, "-map", "-f", mine, "-out", tmp_path).returncode != 0
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\nnothing")
    assert compare("-m", tmp_path / "bad.h5", "-g", golden, "-out", tmp_path).returncode == 7
    arrays = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for path in arrays:
        np.save(path, np.ones(3))
    assert compare("-m", arrays[0], "-g", arrays[1], "-p", "1").returncode == 6


def test_a_table_is_begun_before_the_files_are_looked_at(sides, tmp_path):
    """What could not be compared leaves its header, as in the original."""
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\nnothing")
    empty = write(tmp_path / "empty.h5", NPU, {})
    for number, (mine, golden, status) in enumerate([(sides[1], sides[0], 11), (empty, sides[1], 11), (tmp_path / "bad.h5", sides[1], 7),
                                                     (sides[0], tmp_path / "bad.h5", 7)]):
        out = tmp_path / f"out{number}"
        assert compare("-m", mine, "-g", golden, "-alg", "1", "-out", out).returncode == status
        [table] = out.iterdir()
        assert table.name.startswith("result_") and table.stat().st_mode & 0o777 == 0o600
        assert table.read_bytes() == b"Index,NPUDump,NPUDumpPath,GroundTruthPath,DataType,Shape,MaxAbsoluteError,CompareFailReason\r\n"
    assert compare("-m", sides[0], "-g", sides[1], "-op", "x", "-out", tmp_path / "no").returncode == 6
    assert list((tmp_path / "no").iterdir()) == []


def test_numbers_that_are_none(tmp_path):
    """-p 1 leaves out "nan", which is a number and not small; strides that do not fit are not followed."""
    x = np.array([[1, np.nan, 3]], np.float32)
    mine = write(tmp_path / "npu.h5", NPU, {"/add/1/output/a": x, "/sub/2/output/a": x * 0 + 1})
    right = write(tmp_path / "cpu.h5", CPU, {"/add/1/output/a": x, "/sub/2/output/b": x})
    with h5py.File(right, "r+") as file:
        file["/add/1/output/a"].attrs["Stride"] = np.array([3, 2], np.int64)
    done = compare("-m", mine, "-g", right, "-p", 1, "-out", tmp_path / "out")
    assert done.returncode == 0 and "[WARNING] [/add/1/output/a]:shape=(1, 3),stride=(3, 2),stride is invalid\n" in done.stderr
    assert [row["CosineSimilarity"] for row in rows_in(tmp_path / "out")] == ["nan", "NaN", "NaN"]
    [folder] = (tmp_path / "out").glob("*_filtered")
    with open(folder / "filtered_result.csv", newline="") as file:
        assert [row["CosineSimilarity"] for row in csv.DictReader(file)] == ["NaN", "NaN"]


def test_what_pairs_cannot_be_compared(tmp_path):
    """DataType has nine numbers; the original rejects others, here they are compared if they are equal."""
    x = np.ones((2, 2), np.float32)
    mine = {f"/op{i}/{i}/output/a": (x, kind) for i, kind in enumerate((4, 4, 1, 1, 1))}
    right = {f"/op{i}/{i}/output/a": (x, kind) for i, kind in enumerate((4, 1, 15, 6, 10))}
    mine, right = write(tmp_path / "npu.h5", NPU, mine), write(tmp_path / "cpu.h5", CPU, right)
    with h5py.File(right, "r+") as file:
        del file["/op4/4/output/a"].attrs["DataType"]
    assert compare("-m", mine, "-g", right, "-out", tmp_path / "out").returncode == 0
    assert [row["CompareFailReason"] for row in rows_in(tmp_path / "out")] == [
        "", "4 is not in list", "15 is not in list",
        "The DataType on both sides are different, my dump data path is /op3/3/output/a, the data type of both sides is(Float,Int).",
        "None is not in list"]


def test_what_is_said_of_what_has_no_counterpart(tmp_path):
    """Of single tensors only if the other file has the operator."""
    x = np.ones((2, 2), np.float32)
    mine = write(tmp_path / "npu.h5", NPU, {"/add/1/output/a": x, "/add/1/output/b": x, "/mul/2/output/a": x})
    right = write(tmp_path / "cpu.h5", CPU, {"/add/1/output/a": x})
    done = compare("-m", mine, "-g", right, "-out", tmp_path / "out")
    assert done.returncode == 0
    assert [line.split("[WARNING] ")[1] for line in done.stderr.splitlines() if "[WARNING]" in line and "data match" in line] == [
        "No data match with /add/1/output/b in golden dump data."]
    assert [row["CompareFailReason"] for row in rows_in(tmp_path / "out")] == [
        "", "No data match with /add/1/output/b in golden dump data.", "No data match with op:mul in golden dump data."]


def test_elements_that_cannot_be_read(tmp_path):
    """The reason stands on the log, not in the table."""
    x = np.arange(64, dtype=np.float32)
    mine = write(tmp_path / "npu.h5", NPU, {"/add/1/output/a": x, "/mul/2/output/a": x})
    right = write(tmp_path / "cpu.h5", CPU, {"/mul/2/output/a": x})
    with h5py.File(right, "r+") as file:
        dataset = file.create_dataset("/add/1/output/a", data=x, chunks=(64,), compression="gzip")
        for name, value in file["/mul/2/output/a"].attrs.items():
            dataset.attrs[name] = value
        place = dataset.id.get_chunk_info(0)
    with open(right, "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    done = compare("-m", mine, "-g", right, "-out", tmp_path / "out")
    assert done.returncode == 0 and "[ERROR] Read dataset:/add/1/output/a failed!" in done.stderr
    assert [(row["CosineSimilarity"], row["CompareFailReason"]) for row in rows_in(tmp_path / "out")] == [("NaN", ""), ("1.000000", "")]


def test_a_directory_of_algorithms_is_looked_at_first(sides, tmp_path):
    arguments = ["-m", sides[0], "-g", sides[1], "-out", tmp_path / "out"]
    assert compare(*arguments, "-c", tmp_path / "nothing").returncode == 3
    assert compare(*arguments, "-c", tmp_path).returncode == 6
