"""Real TensorFlow under `opdump run`."""

import json
import os
import pathlib
import subprocess

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PYTHON = os.environ["OPDUMP_TENSORFLOW"]  # an interpreter with TensorFlow
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def pytest_collection_modifyitems(items):
    if not os.access(PYTHON, os.X_OK):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="no TensorFlow from PyPI: tools/fetch_tensorflow.sh"))


def run(words, directory, expect=0, **env):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=900,
                          env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **env})
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def plain(name, directory, *arguments):
    return run([PYTHON, PROGRAMS / f"{name}.py", *arguments], directory)


def record(name, directory, *arguments, dump="dump", options=("--steps", "all"), **env):
    """Records into `dump`."""
    return run([OPDUMP, "run", "-o", dump, *options, "--", PYTHON, PROGRAMS / f"{name}.py", *arguments], directory, **env)


def script(text, directory, *options, expect=0, **env):
    """Runs a program's text under `opdump run`."""
    (directory / "train.py").write_text(text)
    return run([OPDUMP, "run", *options, "--", PYTHON, "train.py"], directory, expect, PYTHONPATH=str(PROGRAMS), **env)


class Dump:
    """What a rank's log says."""

    def __init__(self, directory, name="dump"):
        self.rank = directory / name / "rank_0"
        self.status = json.loads((self.rank / "opdump_status.json").read_text())
        self.log = [json.loads(line) for line in (self.rank / "operators.jsonl").read_text().splitlines()]
        self.operators = {entry["name"]: entry for entry in self.log if entry["kind"] == "operator"}

    def types(self):
        return {entry["type"] for entry in self.operators.values()}

    def steps(self):
        return sorted({int(path.name) for path in self.rank.glob("*/[0-9]*/[0-9]*")})


@pytest.fixture
def package():
    """For PYTHONPATH."""
    return OPDUMP.parent.parent / "python"
