"""Which Python opdump blame runs operators in: the one that recorded the run, or the first with its torch."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
from conftest import OPDUMP, fault, program


def test_a_python_without_torch_is_said(pair):
    golden, actual = pair.record("golden", program()), pair.record("actual", program(fault("tanh", "x", "x.sigmoid()", "pass")))
    done = subprocess.run([OPDUMP, "blame", golden, actual, "--python", "/bin/false"], cwd=pair.directory, capture_output=True, text=True)
    assert done.returncode == 2 and "does it have torch?" in done.stderr
    assert f"as {sys.executable}, which recorded the run" in done.stderr
    lacking = pair.directory / "python"
    lacking.write_text(f'#!/bin/sh\nPYTHONPATH="{pair.directory}/broken" exec {sys.executable} "$@"\n')
    lacking.chmod(0o755)
    (pair.directory / "broken").mkdir()
    (pair.directory / "broken/torch.py").write_text("raise ImportError('libtorch.so is missing')")
    done = subprocess.run([OPDUMP, "blame", golden, actual, "--python", lacking], cwd=pair.directory, capture_output=True, text=True)
    assert done.returncode == 2 and "cannot run operators again (ImportError: libtorch.so is missing); --python" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    done = subprocess.run([OPDUMP, "blame", golden, golden, "--python", lacking], cwd=pair.directory, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), "nothing has to run again"


@pytest.fixture
def bare(pair):
    """The environment where the first python3 of PATH has no torch, and the user's cache is empty."""
    path, cache, hidden = (pair.directory / name for name in ("path", "cache", "hidden"))
    for folder in (path, cache, hidden):
        folder.mkdir()
    (hidden / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    write_script(path / "python3", f'PYTHONPATH="{hidden}" exec {sys.executable} "$@"')
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "OPDUMP_CACHE": str(cache)}
    environment.pop("OPDUMP_PYTHON", None)
    return environment


def write_script(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def record_with(pair, python, environment):
    """golden and actual, which differ in one operator, recorded by this Python."""
    right = "2 * torch.sigmoid(2 * x) - 1"
    for name, wrong in (("golden", "pass"), ("actual", "result = result * 1.0003")):
        text = program(fault("tanh", "x", right, wrong))
        (pair.directory / "train.py").write_text(text)
        done = subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", python, "train.py"], cwd=pair.directory,
                              capture_output=True, text=True, env=environment, timeout=600)
        assert done.returncode == 0 and "dumped" in done.stderr, done.stderr


def blame_in(pair, environment, *options):
    done = subprocess.run([OPDUMP, "blame", "golden", "actual", "--json", *options], cwd=pair.directory, capture_output=True, text=True,
                          env=environment, timeout=600)
    return done, json.loads(done.stdout) if done.stdout else None


def recorded_pythons(pair):
    statuses = [json.loads(path.read_text()) for path in sorted(pair.directory.rglob("opdump_status.json"))]
    return [status["environment"]["python"] for status in statuses]


def test_operators_run_in_the_python_that_recorded_them(pair, bare):
    """python3 has no torch: the one that recorded the run has."""
    record_with(pair, sys.executable, bare)
    assert recorded_pythons(pair) == [sys.executable] * 2
    assert (pair.directory / "cache/pythons").read_text() == f"{sys.executable}\n"
    done, answer = blame_in(pair, bare)
    assert done.returncode == 1 and answer["not_replayed"] == [], done.stderr
    assert answer["findings"][0]["operator"] == "Default/tanh-op0" and answer["findings"][0]["confidence"] == "certain"
    line, = done.stderr.splitlines()
    assert line == (f"opdump: warning: python3 cannot run operators again (ModuleNotFoundError: No module named 'torch'): they run in "
                    f"{sys.executable}, which recorded the run")


def edit_statuses(pair, edit):
    for path in pair.directory.rglob("opdump_status.json"):
        status = json.loads(path.read_text())
        edit(status)
        path.chmod(0o600)
        path.write_text(json.dumps(status))


def test_another_torch_than_the_recorded_one_is_said(pair, bare):
    record_with(pair, sys.executable, bare)
    edit_statuses(pair, lambda status: status.update(runtime="torch 1.5.0"))
    done, answer = blame_in(pair, bare)
    assert done.returncode == 1 and answer["not_replayed"] == [], done.stderr
    assert f"which recorded the run; it has torch {torch.__version__} now, and had 1.5.0 then" in done.stderr


@pytest.fixture
def older(pair, bare):
    """The environment where the torch of the first python3 says that it is 1.5.0."""
    hidden = pair.directory / "hidden"
    (hidden / "torch.py").write_text(f"import sys\nsys.path.remove({str(hidden)!r})\ndel sys.modules['torch']\n"
                                     "import torch\ntorch.__version__ = '1.5.0'\n")
    return bare


def test_the_torch_that_recorded_the_run_is_preferred(pair, older):
    record_with(pair, sys.executable, older)
    status = json.loads(next(pair.directory.rglob("opdump_status.json")).read_text())
    other = f"opdump: warning: python3 has torch 1.5.0, and the run was recorded with {status['runtime']}"
    done, answer = blame_in(pair, older)
    assert done.returncode == 1 and answer["not_replayed"] == [], done.stderr
    assert answer["findings"][0]["operator"] == "Default/tanh-op0" and answer["findings"][0]["confidence"] == "certain"
    assert done.stderr.splitlines() == [f"{other}: operators run again in {sys.executable}, which recorded the run"]
    pip = {**older, "OPDUMP_PYTHON": "python3", "OPDUMP_OWN_PYTHON": "python3"}  # an opdump of pip, in that environment
    assert blame_in(pair, pip)[0].stderr == done.stderr
    done, answer = blame_in(pair, older, "--python", "python3")
    assert answer["findings"][0]["confidence"] == "certain" and done.stderr.splitlines() == [other]
    edit_statuses(pair, lambda status: status.update(runtime="torch 1.5.1"))
    assert blame_in(pair, older)[0].stderr == "", "python3 has it"


def test_another_torch_than_all_at_hand_have_is_said(pair, older):
    """python3 runs the operators if no other Python has the torch of then."""
    record_with(pair, sys.executable, older)
    edit_statuses(pair, lambda status: status.update(runtime="torch 1.4.0"))
    done, answer = blame_in(pair, older)
    assert answer["findings"][0]["confidence"] == "certain" and answer["not_replayed"] == []
    assert done.stderr.splitlines() == [
        "opdump: warning: python3 has torch 1.5.0, and the run was recorded with torch 1.4.0, and "
        f"{sys.executable}, which recorded the run, has torch {torch.__version__} now, and had 1.4.0 then; --python names another one"]
    edit_statuses(pair, lambda status: status["environment"].update(python="/gone/python"))
    done, answer = blame_in(pair, older)
    assert answer["findings"][0]["confidence"] == "certain" and answer["not_replayed"] == []
    assert done.stderr.splitlines() == [
        "opdump: warning: python3 has torch 1.5.0, and the run was recorded with torch 1.4.0, and "
        "/gone/python, which recorded the run, is gone; --python names another one"]


@pytest.mark.parametrize("python, why", [
    ("gone", r"and \S+/gone, which recorded the run, is gone"),
    ("venv/python3", r"and the dump names \S+/venv/python3, which recorded the run: it has not recorded for you on this machine, and is not started")])
def test_without_a_python_what_needs_none_is_found(pair, bare, python, why):
    """One that has been removed; and one that a dump from elsewhere names, which is not started."""
    record_with(pair, sys.executable, bare)
    named = pair.directory / python
    started = pair.directory / "started"
    if python != "gone":
        write_script(named, f'touch "{started}"; exec {sys.executable} "$@"')
    edit_statuses(pair, lambda status: status["environment"].update(python=str(named)))
    done, answer = blame_in(pair, bare)
    assert done.returncode == 1, done.stdout + done.stderr
    assert answer["findings"][0]["operator"] == "Default/tanh-op0" and answer["findings"][0]["confidence"] == "suspect"
    assert re.search(why, answer["not_replayed"][0]), answer["not_replayed"]
    assert not started.exists()
