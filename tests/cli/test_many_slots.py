"""One execution with more tensors than are handled at a time."""
import csv
import io
import json
import os
import subprocess
import zipfile

import numpy as np
import pytest

COUNT = 20000
WRONG = 15000  # the first output that differs
CHANGED, MISSING = {WRONG, COUNT - 1}, {7, COUNT - 2}


def opdump(*words, status=0):
    ran = subprocess.run([os.environ["OPDUMP_BIN"], *words], capture_output=True, text=True, check=False)
    assert ran.returncode == status, ran.stderr
    return ran.stdout


def npy(value):
    data = io.BytesIO()
    np.save(data, np.array([value, 1], "f4"))
    return data.getvalue()


def slots(side):
    """Index and value of the outputs of a side."""
    return {i: i + 1 + (side == "actual" and i in CHANGED) for i in range(COUNT) if side == "golden" or i not in MISSING}


@pytest.fixture(scope="module", name="dumps")
def make_dumps(tmp_path_factory):
    root = tmp_path_factory.mktemp("dumps")
    for side in ("golden", "actual"):
        with zipfile.ZipFile(root / f"{side}.npz", "w") as archive:
            archive.writestr("Relu.op.1.2.1700000000000000.input.0.DefaultFormat.npy", npy(0.5))
            for i, value in reversed(slots(side).items()):  # in no order
                archive.writestr(f"Relu.op.1.2.1700000000000000.output.{i}.DefaultFormat.npy", npy(value))
    return root


def test_ls(dumps):
    text = opdump("ls", dumps / "golden.npz")
    assert text.startswith(f"1 rank, 1 graph, step 0: 1 operator in 1 run, {COUNT + 1} tensors")
    names = [line.split()[0] for line in text.splitlines() if line.startswith("    ")]
    assert names == ["input.0", *(f"output.{i}" for i in range(COUNT))]
    run, summary = map(json.loads, opdump("ls", dumps / "golden.npz", "--json").splitlines())
    assert [slot["slot"] for slot in run["slots"]] == names
    assert run["operator"] == "op" and summary["tensors"] == COUNT + 1 and summary["runs"] == 1


def test_show(dumps):
    shown = json.loads(opdump("show", dumps / "golden.npz", "--slot", f"output.{COUNT - 1}", "--json"))
    assert shown["values"] == f"[{COUNT} 1]"
    ran = subprocess.run([os.environ["OPDUMP_BIN"], "show", dumps / "golden.npz", "--slot", "output.x"], capture_output=True,
                         text=True, check=False)
    assert ran.returncode == 3 and "output.10" in ran.stderr and "others" in ran.stderr and len(ran.stderr) < 5000


def test_compare(dumps, tmp_path):
    text = opdump("compare", dumps / "golden.npz", dumps / "actual.npz", "--csv", tmp_path / "slots.csv", status=1)
    rows = list(csv.DictReader(open(tmp_path / "slots.csv", newline="")))
    assert [row["slot"] for row in rows] == ["input.0", *(f"output.{i}" for i in range(COUNT))]
    for i, row in enumerate(rows[1:]):
        assert row["verdict"] == ("own_error" if i in CHANGED else "missing" if i in MISSING else "match"), row
        assert row["max_abs"] == ("" if i in MISSING else "1" if i in CHANGED else "0"), row
    table, conclusion = text.splitlines()[1], text.splitlines()[-1]
    assert table.split()[:4] == ["own_error", "0", "op", "output.7"]
    assert conclusion == ("first bad operator: op (step 0) — inputs match, output.7 is only in golden")
    lines = [json.loads(line) for line in opdump("compare", dumps / "golden.npz", dumps / "actual.npz", "--json", "--all", status=1).splitlines()]
    assert [line["slot"] for line in lines[:-1]] == [row["slot"] for row in rows]
    assert {line["operator_verdict"] for line in lines[:-1]} == {"own_error"}
    assert lines[-1]["text"] == conclusion and lines[-1]["compared_tensors"] == COUNT + 1 - len(MISSING)


def test_compare_other_way_round(dumps):
    text = opdump("compare", dumps / "actual.npz", dumps / "golden.npz", status=1)
    assert text.splitlines()[-1] == "first bad operator: op (step 0) — inputs match, output.7 is only in actual"


@pytest.mark.parametrize("to", ["npy", "npz", "safetensors"])
def test_convert(dumps, tmp_path, to):
    opdump("convert", dumps / "golden.npz", "-o", tmp_path / "out", "--to", to)
    assert opdump("compare", dumps / "golden.npz", tmp_path / "out").splitlines()[-1] == (
        f"no difference: 1 operator, {COUNT + 1} tensors compared")
    if to == "npy":
        for i in (0, 4095, 4096, COUNT - 1):
            assert np.load(tmp_path / f"out/rank_0/graph_0/step_0/op.output.{i}.npy")[0] == i + 1


def test_operands_by_name(tmp_path):
    h5py = pytest.importorskip("h5py")
    for side in ("golden", "actual"):
        with h5py.File(tmp_path / f"{side}.h5", "w") as file:
            for i, value in slots(side).items():
                file[f"add_Tensor/1/input/a{i}"] = np.array([value, 1], "f4")
            file["add_Tensor/1/output/result"] = np.array([side == "actual"], "f4")
    opdump("compare", tmp_path / "golden.h5", tmp_path / "actual.h5", "--csv", tmp_path / "slots.csv", status=1)
    rows = list(csv.DictReader(open(tmp_path / "slots.csv", newline="")))
    assert [row["slot"] for row in rows] == [*sorted(f"input.a{i}" for i in range(COUNT)), "output.result"]
    for row in rows[:-1]:
        i = int(row["slot"][len("input.a"):])
        assert row["verdict"] == ("input_differs" if i in CHANGED else "missing" if i in MISSING else "match"), row
    assert rows[-1]["verdict"] == "inherited"
