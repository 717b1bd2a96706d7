"""`opdump run` of a program of MindSpore: what its build for CPUs refuses is made of the files that it writes."""

import csv
import json
import os
import re
import subprocess

import numpy as np
import pytest
from test_referee import OPDUMP, PROGRAMS, PYTHON, run

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no MindSpore from PyPI: tools/fetch_mindspore.sh")


def configure(directory, **settings):
    common = {"op_debug_mode": 0, "dump_mode": 0, "path": str(directory / "dump"), "net_name": "net", "iteration": "0|2",
              "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0], **settings}
    (directory / "data_dump.json").write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}))
    return "--config", "data_dump.json"


def rows_of(step):
    with (step / "statistic.csv").open() as table:
        return list(csv.DictReader(table))


def test_without_a_configuration(tmp_path):
    done = run([OPDUMP, "run", "-o", "golden", "--steps", "1", "--", PYTHON, PROGRAMS / "train.py"], tmp_path)
    assert len(done.splitlines()) == 3
    (step,) = (tmp_path / "golden/rank_0/model/0").iterdir()
    assert step.name == "1" and list(step.glob("MatMul.*.output.0.*.npy"))
    assert "opdump_config.json" in {path.name for path in (tmp_path / "golden").iterdir()}


@pytest.mark.parametrize("saved", ["statistic", "full"])
def test_statistics(tmp_path, saved):
    run([OPDUMP, "run", *configure(tmp_path, saved_data=saved, statistic_category=["max", "l2norm", "md5"]), "--", PYTHON,
         PROGRAMS / "train.py"], tmp_path)
    steps = sorted((tmp_path / "dump/rank_0/net/0").iterdir())
    assert [step.name for step in steps] == ["0", "2"]
    for step in steps:
        rows, files = rows_of(step), list(step.glob("*.npy"))
        assert rows and list(rows[0])[10:13] == ["Max Value", "L2Norm Value", "MD5"]
        assert len(files) == (len(rows) if saved == "full" else 0)
        for file in files:
            (row,) = [row for row in rows if f".{row['Op Name']}.0.0.{row['Timestamp']}.{row['IO']}.{row['Slot']}." in file.name]
            values = np.load(file)
            assert float(row["Max Value"]) == pytest.approx(float(values.max()), rel=1e-5, abs=1e-12), file


def test_a_path_that_mindspore_does_not_take(tmp_path):
    """With characters that it refuses, and not there yet."""
    run([OPDUMP, "run", *configure(tmp_path, path=str(tmp_path / "my.dump/here")), "--", PYTHON, PROGRAMS / "train.py"], tmp_path)
    steps = sorted((tmp_path / "my.dump/here/rank_0/net/0").iterdir())
    assert [step.name for step in steps] == ["0", "2"] and all(list(step.glob("MatMul.*")) for step in steps)


@pytest.mark.parametrize("mode, sentence", [("PYNATIVE_MODE", "; it dumps programs in GRAPH_MODE\n"), ("GRAPH_MODE", "/golden\n")])
def test_nothing_was_dumped(tmp_path, mode, sentence):
    """By a mode that MindSpore does not dump, or by a program that has failed before."""
    (tmp_path / "program.py").write_text(f"""
import mindspore as ms
from mindspore import ops
ms.set_context(mode=ms.{mode})
ms.set_device("CPU")
if ms.get_context("mode") == ms.GRAPH_MODE:
    raise SystemExit(3)
print(ops.relu(ms.Tensor([1.0])))
""")
    done = subprocess.run([OPDUMP, "run", "-o", "golden", "--", PYTHON, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == (3 if mode == "GRAPH_MODE" else 0)
    last = done.stderr.splitlines(keepends=True)[-1]
    assert last.startswith("opdump: nothing was dumped: MindSpore wrote no files to ") and last.endswith(sentence), done.stderr


def test_overflow(tmp_path):
    """Of a program whose product overflows, that operator stays, with inputs and outputs."""
    (tmp_path / "program.py").write_text("""
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
class Net(nn.Cell):
    def construct(self, x):
        return ops.relu(x + 1) * x
print(Net()(Tensor(np.array([1, 2, 3e38], np.float32))))
""")
    run([OPDUMP, "run", *configure(tmp_path, op_debug_mode=3, iteration="all"), "--", PYTHON, "program.py"], tmp_path)
    names = sorted(re.sub(r"\.0\.0\.\d+", "", path.name) for path in (tmp_path / "dump").rglob("*.npy"))
    assert names and all(name.startswith("Mul.") for name in names), names
    assert {".input." in name for name in names} == {True, False}


def test_other_programs_do_not_notice(tmp_path):
    """Without MindSpore nothing changes, not even the environment that the program sees of it."""
    (tmp_path / "program.py").write_text("import os, sys; print(os.environ.get('MINDSPORE_DUMP_CONFIG'), 'mindspore' in sys.modules)")
    assert run([OPDUMP, "run", *configure(tmp_path), "--", "python3", "program.py"], tmp_path) == "None False\n"
    assert not (tmp_path / "dump").exists() or not list((tmp_path / "dump").iterdir())


def test_selftest(tmp_path):
    """The bundled example, on MindSpore's CPU: every row that is there is the same, until a file is changed."""
    (tmp_path / "example.py").write_text(run([OPDUMP, "selftest", "--program"], tmp_path))
    configure(tmp_path, iteration="all")
    run([PYTHON, "example.py"], tmp_path, MINDSPORE_DUMP_CONFIG=str(tmp_path / "data_dump.json"))
    report = run([OPDUMP, "selftest", "--against", "dump"], tmp_path)
    rows = {line.split()[0]: line.split()[1] for line in report.splitlines()[1:]}
    assert rows == {"files": "same", "names": "same", "statistics": "absent", "matmul": "same", "add": "same", "relu": "same",
                    "div": "same", "overflow": "absent"}, report
    file = next((tmp_path / "dump").rglob("ReLU.*.output.0.*.npy"))
    file.chmod(0o600)
    np.save(file, np.load(file) + 1)
    report = run([OPDUMP, "selftest", "--against", "dump"], tmp_path, expect=1)
    assert "relu          differs  4 elements with max 13, min 1, avg 6.75" in report, report
    assert "; expected: 4 elements with max 12, min 0, avg 5.75" in report, report
    for file in (tmp_path / "dump").rglob("*.npy"):
        file.unlink()
    assert "files         absent" in run([OPDUMP, "selftest", "--against", "dump"], tmp_path, expect=3)
