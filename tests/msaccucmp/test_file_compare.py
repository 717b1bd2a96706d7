"""`opdump msaccucmp file_compare`."""
import csv

import pytest
from conftest import DATA, msaccucmp, needs_data

METRICS = ["CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance",
           "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError"]


def cases():
    if not DATA.exists():
        return []
    with open(DATA / "metric_pairs/expected.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["version"] == "new"]


@needs_data
@pytest.mark.parametrize("row", cases(), ids=lambda row: row["case"] if isinstance(row, dict) else "")
def test_pairs(row, tmp_path):
    folder = DATA / "metric_pairs" / row["case"]
    done = msaccucmp("file_compare", "-m", folder / "a.npy", "-g", folder / "b.npy", "-out", tmp_path)
    assert done.returncode == int(row["rc"])
    log = done.stderr.replace(f"{DATA}/metric_pairs/", "")
    if row["rc"] != "0":
        assert row["message"] in log
        return
    [file] = tmp_path.iterdir()
    assert file.read_text() == "".join(f"{name}: {row[name]}\n" for name in METRICS)
    assert f'The file compare result have been written to "\'{file}\'".' in done.stderr
    if len(row["message"]) > 0 and "Kullback" not in row["message"]:  # which has no line here
        assert row["message"] in log


def test_what_is_no_array(tmp_path):
    text = tmp_path / "a.npy"
    text.write_text("no array")
    assert msaccucmp("file_compare", "-m", text, "-g", text, "-out", tmp_path).returncode == 11
    text.write_text("")
    assert msaccucmp("file_compare", "-m", text, "-g", text, "-out", tmp_path).returncode == 11
    assert msaccucmp("file_compare", "-m", tmp_path / "no.npy", "-g", text, "-out", tmp_path).returncode == 3
    assert msaccucmp("file_compare", "-m", tmp_path / "a.txt", "-g", text, "-out", tmp_path).returncode == 24


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">i8", ">c16"])
def test_arrays_of_the_other_byte_order(dtype, tmp_path):
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(6, dtype=dtype).reshape(2, 3)
    numpy.save(tmp_path / "a.npy", array)
    numpy.save(tmp_path / "b.npy", numpy.asfortranarray(array.astype(array.dtype.newbyteorder("<")) + 1))
    done = msaccucmp("file_compare", "-m", tmp_path / "a.npy", "-g", tmp_path / "b.npy", "-out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "out").iterdir()
    assert "MaxAbsoluteError: 1.000000\n" in file.read_text()


@pytest.mark.parametrize("verb", ["compare", "file_compare"])
def test_what_is_said_of_a_damaged_array(verb, tmp_path):
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x09\x00")
    more = ["-out", tmp_path] if verb == "file_compare" else []
    done = msaccucmp(verb, "-m", tmp_path / "a.npy", "-g", tmp_path / "a.npy", *more)
    assert done.returncode == 11
    assert "we only support format version (1,0), (2,0), and (3,0), not (9, 0)\n" in done.stderr
