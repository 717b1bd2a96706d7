"""opdump.dumper with load_with_acl_dump: operators that get recorded inputs write dumps of their own, as acl.json says."""

import csv
import json
import subprocess

import h5py
import numpy as np
import pytest
from conftest import BUILD, OPDUMP

PROGRAM = """
    import sys, torch
    from opdump.dumper import dumper
    def make_step(seed):
        torch.manual_seed(seed)
        model, x = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)), torch.randn(5, 4)
        return lambda: model(x).sum().backward()
"""
DUMP = PROGRAM + """
    step = make_step(0)
    with dumper(use_dump=True, dump_path="all.h5"):
        step()
"""
REPLAY = PROGRAM + """
    step = make_step(1)
    with dumper(use_load=True, load_file_path="some.h5", dump_path="replayed.h5", load_with_acl_dump=True,
                device_type=10):
        step()
"""


@pytest.fixture
def replay(opdump):
    """Records a step, copies operators by h5copy, and repeats the step with other numbers under the acl.json."""

    def run(operators, **settings):
        where, env = opdump.directory, {"PYTHONPATH": str(BUILD / "python")}
        recorded = opdump.plain(DUMP, env=env)
        assert recorded.returncode == 0, recorded.stderr
        for operator in operators:
            subprocess.run(["h5copy", "-p", "-i", "all.h5", "-o", "some.h5", "-s", operator, "-d", operator], cwd=where, check=True)
        (where / "out").mkdir()
        (where / "result").mkdir()
        (where / "acl.json").write_text(json.dumps({"dump": {"dump_list": [], "dump_path": "./out", "dump_mode": "all",
                                                             "dump_op_switch": "on", **settings}}))
        done = opdump.plain(REPLAY, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        files = sorted(path for path in (where / "out").rglob("*") if path.is_file() and "rank_" not in str(path))
        return where, done.stdout.splitlines(), files

    return run


def read(path):
    """{"/addmm/1/output/result": array}"""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({"/" + name: item[()]})
                        if isinstance(item, h5py.Dataset) and item.attrs.get("Type") == 0 else None)
    return found


def convert(where, files):
    """{(operator, "input.0"): array} by msaccucmp."""
    subprocess.run([OPDUMP, "msaccucmp", "convert", "-d", ",".join(map(str, files)), "-out", where / "arrays", "-v", "2"],
                   check=True, capture_output=True)
    arrays = {}
    for path in (where / "arrays").glob("*.npy"):
        pieces = path.name.split(".")
        arrays[pieces[0], ".".join(pieces[-3:-1])] = np.load(path)
    return arrays


def test_operators_dump_the_recorded_values(replay):
    where, console, files = replay(["/addmm/1", "/relu/2"])
    assert [line for line in console if "load inputs" in line] == ["IR: addmm load inputs", "IR: relu load inputs"]
    assert sorted(path.name.split(".")[0] for path in files) == ["addmm", "relu"], "the second addmm had no record"
    golden, arrays = read(where / "all.h5"), convert(where, files)
    for key, path in {("addmm", "input.0"): "/addmm/1/input/self", ("addmm", "input.1"): "/addmm/1/input/mat1",
                      ("addmm", "input.2"): "/addmm/1/input/mat2", ("addmm", "output.0"): "/addmm/1/output/result",
                      ("relu", "input.0"): "/relu/2/input/self", ("relu", "output.0"): "/relu/2/output/result"}.items():
        assert np.array_equal(arrays[key], golden[path]), key
    replayed = read(where / "replayed.h5")
    assert sorted(replayed) == ["/addmm/1/output/result", "/relu/2/output/result"]
    assert all(np.array_equal(value, golden[path]) for path, value in replayed.items())


def test_nodes_dump_what_they_call(replay):
    where, _, files = replay(["/ReluBackward0/8"])
    assert [path.name.split(".")[0] for path in files] == ["threshold_backward"]
    golden, arrays = read(where / "all.h5"), convert(where, files)
    assert np.array_equal(arrays["threshold_backward", "output.0"], golden["/ReluBackward0/8/output/grad_inputs/grad_inputs_0"])


def test_statistics_are_those_of_the_recorded_values(replay):
    where, _, files = replay(["/addmm/1"], dump_data="stats")
    (file,) = [path for path in files if path.suffix == ".csv"]
    with file.open() as text:
        rows = {(row["Input/Output"], row["Index"]): row for row in csv.DictReader(text)}
    golden = read(where / "all.h5")
    assert len(rows) == 4
    for key, path in {("Input", "1"): "/addmm/1/input/mat1", ("Output", "0"): "/addmm/1/output/result"}.items():
        row, values = rows[key], golden[path]
        assert row["Data Type"] == "DT_FLOAT" and row["Shape"] == "x".join(map(str, values.shape))
        found = [float(row[name]) for name in ("Max Value", "Min Value", "Avg Value")]
        assert np.allclose(found, [values.max(), values.min(), values.mean()], rtol=1e-5, atol=1e-7), row


def test_comparing_the_two_files_pairs_records_of_one_number(replay):
    where, _, _ = replay(["/addmm/1", "/relu/2", "/ReluBackward0/8"])
    done = subprocess.run([OPDUMP, "msaccucmp", "compare", "-m", "replayed.h5", "-g", "all.h5", "-out", "result"], cwd=where,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (table,) = (where / "result").glob("result_*.csv")
    with table.open() as text:
        rows = {row["NPUDumpPath"]: row for row in csv.DictReader(text) if row["NPUDumpPath"] != "NaN"}  # recorded, not replayed
    assert sorted(rows) == ["/ReluBackward0/8/output/grad_inputs/grad_inputs_0", "/addmm/1/output/result", "/relu/2/output/result"]
    for path, row in rows.items():
        assert row["GroundTruthPath"] == path and float(row["CosineSimilarity"]) == 1 and float(row["MaxAbsoluteError"]) == 0, row
