"""Runs of two versions of PyTorch, which compute LSTMs, attention, losses and interpolation by different operators."""

import json
import sys

import pytest
from recording import OPDUMP, PROGRAMS, PYTHON, needs_torch, run

pytestmark = needs_torch


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Recordings of the old torch, of the new one, and of the new one with faults."""
    directory = tmp_path_factory.mktemp("versions")
    for name, python, *options in (("old", sys.executable), ("new", PYTHON), ("scaled", PYTHON, "--scale"), ("faster", PYTHON, "--rate")):
        done = run([OPDUMP, "run", "-o", name, "--steps", "all", "--", python, PROGRAMS / "versions.py", *options], directory)
        assert done.returncode == 0, done.stderr
    return directory


def compare(directory, name, status):
    done = run([OPDUMP, "compare", "old", name], directory)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def blame(directory, name, status):
    done = run([OPDUMP, "blame", "old", name, "--python", PYTHON, "--json"], directory)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_two_versions_differ_by_rounding(runs):
    assert compare(runs, "new", 0).startswith("no difference")
    assert blame(runs, "new", 0)["outcome"] in ("rounding", "same")


def test_another_rate_is_named_between_versions(runs):
    assert "value is -0.01" in compare(runs, "faster", 1)
    finding = blame(runs, "faster", 1)["findings"][0]
    assert (finding["cause"], finding["confidence"], finding["phase"]) == ("argument", "certain", "optimizer")


def test_an_operator_more_is_named_between_versions(runs):
    assert "Default/mul-op" in compare(runs, "scaled", 1)
    findings = blame(runs, "scaled", 1)["findings"]
    assert findings[0]["operator"].startswith("Default/mul-op") and findings[0]["cause"] == "sequence"
