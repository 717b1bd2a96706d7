"""Real JAX and Flax under `opdump run`."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PYTHON = os.environ["OPDUMP_JAX"]  # an interpreter with JAX and Flax
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def pytest_collection_modifyitems(items):
    if not os.access(PYTHON, os.X_OK):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="no JAX and Flax from PyPI: tools/fetch_jax.sh"))


def run(words, directory, expect=0, **env):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=900,
                          env={**os.environ, "JAX_PLATFORMS": "cpu", **env})
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def plain(name, directory, *arguments, expect=0):
    return run([PYTHON, PROGRAMS / f"{name}.py", *arguments], directory, expect)


def record(name, directory, *arguments, dump="dump", options=("--steps", "all"), python=PYTHON, expect=0):
    """Records into `dump`."""
    return run([OPDUMP, "run", "-o", dump, *options, "--", python, PROGRAMS / f"{name}.py", *arguments], directory, expect)


def record_torch(network, directory, dump="torch"):
    """Records a network of PyTorch, and writes its weights to weights.npz."""
    return record("torch_nets", directory, network, "weights.npz", dump=dump, python=sys.executable)


def compare(golden, actual, directory, expect, *options):
    return run([OPDUMP, "compare", golden, actual, *options], directory, expect).stdout


class Dump:
    """What a rank's log says."""

    def __init__(self, directory, name="dump"):
        self.rank = directory / name / "rank_0"
        self.status = json.loads((self.rank / "opdump_status.json").read_text())
        self.log = [json.loads(line) for line in (self.rank / "operators.jsonl").read_text().splitlines()]
        self.operators = {entry["name"]: entry for entry in self.log if entry["kind"] == "operator"}


@pytest.fixture
def package(monkeypatch):
    """The program; `import opdump` finds the package of the same build."""
    monkeypatch.syspath_prepend(str(OPDUMP.parent.parent / "python"))
    return OPDUMP
