"""What opdump writes, seen by numpy, pandas and the rules other tools apply to names; and what numpy writes, seen by
opdump. OPDUMP_SAMPLE_FILES is the program built from sample_files.cc."""
import csv
import os
import re
import stat
import struct
import subprocess

import numpy as np
import pandas
import pytest

PROGRAM = os.environ["OPDUMP_SAMPLE_FILES"]
# dtype in names -> dtype in files. What .npy lacks is widened.
STORED = {"bool": "|b1", "int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "|u1", "uint16": "<u2",
          "uint32": "<u4", "uint64": "<u8", "float16": "<f2", "bfloat16": "<f4", "float32": "<f4", "float64": "<f8",
          "complex64": "<c8", "complex128": "<c16", "int4": "|i1", "uint1": "|u1"}
TWO_VALUES = {"bool", "uint1"}
LONG = "Add.Default_" + 300 * "n" + ".0.0.1733905446819807.input.0.DefaultFormat.float32.npy"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp("dump")
    print(subprocess.run([PROGRAM, "write", path], check=True, capture_output=True, text=True).stdout)
    return path


@pytest.fixture(scope="module")
def step(root):
    return root / "rank_0" / "Net" / "0" / "0"


def expected(dtype):
    values = np.arange(6).reshape(2, 3)
    return (values % 2 if dtype in TWO_VALUES else values).astype(STORED[dtype])


def npy_bytes(array):
    """The file as the original's writer lays it out, from its description."""
    shape = "".join(f"{dim}," for dim in array.shape)
    text = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': ({shape}), }}"
    text += " " * (64 - (10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + array.tobytes()


def file_of(step, dtype):
    time = 1733905446819790 + list(STORED).index(dtype)
    return step / f"Add.Default_{dtype}_x-op0.0.0.{time}.output.0.DefaultFormat.{dtype}.npy"


@pytest.mark.parametrize("dtype", STORED)
def test_npy_to_the_byte_and_by_numpy(step, dtype):
    path = file_of(step, dtype)
    assert path.read_bytes() == npy_bytes(expected(dtype))
    loaded = np.load(path, allow_pickle=False)
    assert loaded.dtype == np.dtype(STORED[dtype])
    np.testing.assert_array_equal(loaded, expected(dtype))
    np.testing.assert_array_equal(np.load(path, mmap_mode="r"), expected(dtype))


def test_nothing_else_is_in_the_directory(step):
    short = dict(line.split(",", 1) for line in (step / "mapping.csv").read_text().splitlines())
    assert list(short.values()) == [LONG]
    names = {file_of(step, dtype).name for dtype in STORED} | set(short) | {"mapping.csv", "statistic.csv"}
    assert {path.name for path in step.iterdir()} == names
    np.testing.assert_array_equal(np.load(step / next(iter(short))), np.array([np.inf, -np.inf, 1e-5], "f4"))


def test_rules_of_other_tools(root, step):
    # MindSpore's own checker: nothing empty, nothing that others may write or run.
    for path in root.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o7077 == 0 and (path.is_dir() or mode & 0o100 == 0), path
        assert any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0, path
    # It takes fields 1, 5 and 6 of a name; msprobe's graph comparison matches this pattern.
    pattern = re.compile(r"^([^.]+)\.([^.]+)\.([^.]+)\.([^.]+)\.(\d+(?:\.\d+)*)\.((?:in|out)put(?:\.\d+)*)"
                         r"\.([^.]+)\.([^.]+)\.npy$")
    for dtype in STORED:
        name = file_of(step, dtype).name
        fields = name.split(".")
        assert fields[1] == f"Default_{dtype}_x-op0" and fields[5:7] == ["output", "0"]
        assert pattern.match(name)


def test_statistics_by_pandas(step):
    table = pandas.read_csv(step / "statistic.csv", index_col=False, keep_default_na=False)
    assert list(table.columns) == [
        "Op Type", "Op Name", "Task ID", "Stream ID", "Timestamp", "IO", "Slot", "Data Size", "Data Type", "Shape",
        "Max Value", "Min Value", "Avg Value", "Count", "Negative Zero Count", "Positive Zero Count", "NaN Count",
        "Negative Inf Count", "Positive Inf Count", "Zero Count", "MD5", "L2Norm Value"]
    with_statistics = [dtype for dtype in STORED if not dtype.startswith("complex")]
    assert list(table["Data Type"]) == with_statistics + ["float32"]
    sizes = {"int4": 3, "uint1": 1, "bfloat16": 12}
    for dtype, row in zip(with_statistics, table.to_dict("records")):
        array = expected(dtype).astype("f8")
        assert row["Op Name"] == f"Default_{dtype}_x-op0"
        assert row["Timestamp"] == int(file_of(step, dtype).name.split(".")[4])
        assert row["Shape"] == "(2,3)"
        assert row["Data Size"] == sizes.get(dtype, expected(dtype).nbytes)
        assert float(row["Max Value"]) == array.max() and float(row["Min Value"]) == 0
        assert float(row["Avg Value"]) == pytest.approx(array.mean(), rel=1e-5)
        assert float(row["L2Norm Value"]) == pytest.approx(np.linalg.norm(array), rel=1e-5)
        assert row["Count"] == 6 and row["Positive Zero Count"] == (array > 0).sum()
        assert row["Negative Zero Count"] == 0 and row["Zero Count"] == (array == 0).sum()
        assert row["MD5"] == 32 * "a"


def test_statistics_by_csv_reader(step):
    with open(step / "statistic.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert row.pop(None) == [""]  # rows have one comma more than the header
    last = rows[-1]
    assert last["Op Name"] == "Default_" + 300 * "n" and last["Shape"] == "(3)" and last["IO"] == "input"
    assert (last["Max Value"], last["Min Value"], last["L2Norm Value"]) == ("inf", "-inf", "inf")
    assert last["Avg Value"] in ("nan", "-nan") and last["MD5"] == ""
    assert (last["Positive Inf Count"], last["Negative Inf Count"], last["Positive Zero Count"]) == ("1", "1", "2")


def read(path):
    return subprocess.run([PROGRAM, "read", path], check=True, capture_output=True, text=True).stdout.strip()


def test_reads_what_numpy_writes(tmp_path):
    cube = np.arange(24, dtype="i8").reshape(2, 3, 4)
    numbers = " ".join(map(str, range(24)))
    for version in [(1, 0), (2, 0), (3, 0)]:
        for array in [cube, np.asfortranarray(cube)]:
            with open(tmp_path / "a.npy", "wb") as file:
                np.lib.format.write_array(file, array, version)
            assert read(tmp_path / "a.npy") == f"int64 (2,3,4) {numbers}"
    for array, text in [(np.float32(1.5), "float32 () 1.5"), (np.zeros((0, 3), "f4"), "float32 (0,3)"),
                        (np.arange(3, dtype="i8"), "int64 (3) 0 1 2"), (np.array([True, False]), "bool (2) 01 00"),
                        (np.array([1 + 2j], "c8"), "complex64 (1) 00 00 80 3f 00 00 00 40")]:
        np.save(tmp_path / "a.npy", array)
        assert read(tmp_path / "a.npy") == text


def test_refuses_what_it_cannot_use(tmp_path):
    for array, why in [(np.array([{}], object), "pickles"), (np.arange(3, dtype=">i8"), "big endian"),
                       (np.array(["text"]), "'<U4'"), (np.zeros(2, [("a", "i4")]), "structured"),
                       (np.zeros(2, "V2"), "bfloat16 must be saved as float32")]:
        np.save(tmp_path / "a.npy", array)
        assert read(tmp_path / "a.npy").startswith(f"error: {tmp_path}/a.npy: ") and why in read(tmp_path / "a.npy")
