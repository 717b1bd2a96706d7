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
@pytest.mark.parametrize("row", cases(), ids=lambda row: row["case"])
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
