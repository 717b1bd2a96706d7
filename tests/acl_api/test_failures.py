"""Overflow and exceptions, the whole way: through libascendcl and through `opdump run MODEL.onnx`, with what other tools read from them."""
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPDUMP = os.environ["OPDUMP_BIN"]
SCRIPTS = {
    "overflow": 'model = Model(models / "overflow.onnx"); model.execute(np.load(models / "overflow/x.npy"))',
    "failing": 'model = Model(models / "failing.onnx")\n'
               'model.execute(np.load(models / "failing/x.npy"), np.load(models / "failing/shape.npy"), outputs=[100], code=500002)'}


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", directory, "overflow", "failing"], check=True, capture_output=True)
    return directory


def by_library(tmp_path, models, name, status, environment):
    script = f'from acl import *\nimport pathlib\nmodels = pathlib.Path({str(models)!r})\ncall("aclInit", "acl.json")\n{SCRIPTS[name]}\ncall("aclFinalize")'
    return subprocess.run([sys.executable, "-c", script], cwd=tmp_path, text=True, capture_output=True, timeout=120,
                          env=os.environ | {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"} | environment), 0


def by_command(tmp_path, models, name, status, environment):
    return subprocess.run([OPDUMP, "run", "--config", "acl.json", models / f"{name}.onnx", "--input-dir", models / name], cwd=tmp_path,
                          text=True, capture_output=True, timeout=120, env=os.environ | environment), status


@pytest.fixture(params=[by_library, by_command], ids=["library", "command"])
def run(request, tmp_path, models):
    def run(name, status=0, dump=None, **environment):
        (tmp_path / "dump").mkdir()
        (tmp_path / "acl.json").write_text(json.dumps({"dump": {"dump_path": "$PWD/dump"} | dump} if dump else {"dump": {}}))
        done, expected = request.param(tmp_path, models, name, status, {"PWD": str(tmp_path)} | environment)
        assert done.returncode == expected, done.stderr
        return tmp_path / "dump"
    return run


def convert(path, out):
    done = subprocess.run([OPDUMP, "msaccucmp", "convert", "-d", path, "-out", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return sorted(out.glob(path.name + "*"))


@pytest.mark.parametrize("record,layout", [({}, "old"), ({"OPDUMP_OVERFLOW_RECORD": "new"}, "new")], ids=["old", "new"])
def test_overflow(run, tmp_path, record, layout):
    (directory,) = run("overflow", dump={"dump_debug": "on"}, **record).glob("2*/0/overflow/1/0")
    operator, debug = sorted(directory.iterdir(), key=lambda path: path.name.startswith("Opdebug"))
    kind, name, task, stream, time = operator.name.split(".")
    assert (kind, name, stream) == ("Div", "divide", "0")
    assert re.fullmatch(r"Opdebug\.Node_OpDebug\.\d+\.0\." + time, debug.name)
    arrays = {path.name.split(".", 5)[5]: np.load(path) for path in convert(operator, tmp_path / "npy")}
    assert arrays["input.1.npy"].tolist() == [1, 0, 2] and np.isinf(arrays["output.0.npy"]).tolist() == [False, True, False]
    (record,) = convert(debug, tmp_path / "debug")
    record = json.loads(record.read_text())
    facts = record["AI Core"] if layout == "old" else record["acc_list"]["data"]
    assert (facts["task_id"], facts["stream_id"], facts["model_id"]) == (int(task), 0, 1) and facts["status"] not in (0, [0] * 4)
    assert ("magic" in record) == (layout == "new")
    done = subprocess.run([OPDUMP, "msaccucmp", "overflow", "-d", directory, "-out", tmp_path / "found"], capture_output=True, text=True)
    text = next((tmp_path / "found").glob("overflow_summary_*.txt")).read_text()
    assert done.returncode == 0 and "[Div] divide" in text and f"[TaskId:{task}][StreamId:0]" in text, text


@pytest.mark.parametrize("dump,environment", [
    ({"dump_scene": "lite_exception"}, {}), ({"dump_scene": "aic_err_norm_dump"}, {}), ({"dump_scene": "aic_err_detail_dump"}, {}),
    (None, {"ASCEND_DUMP_SCENE": "aic_err_brief_dump", "ASCEND_DUMP_PATH": "dump"}),
], ids=["lite", "norm", "detail", "environment"])
def test_exception(run, tmp_path, models, dump, environment):
    directory = run("failing", status=3, dump=dump, **environment)
    (path,) = (directory / "extra-info/data-dump/0").iterdir()
    assert re.fullmatch(r"exception_info\.\d+\.0\.\d{16}", path.name) and path.stat().st_mode & 0o777 == 0o600
    x = np.load(models / "failing/x.npy")
    first, second = [np.load(made) for made in convert(path, tmp_path / "npy")]
    assert np.array_equal(first, -np.maximum(x, 0)) and second.tolist() == [2, 3]
