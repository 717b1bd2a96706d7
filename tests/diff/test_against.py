"""`opdump run --against`: a recording is compared with another one while it grows."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
SLOW = pathlib.Path(__file__).parent / "programs" / "slow.py"


@pytest.fixture
def run(tmp_path):
    """Records slow.py with these options of `opdump run` and arguments of its own."""

    def record(options, *arguments):
        return subprocess.run([OPDUMP, "run", *options, "--", sys.executable, SLOW, *arguments], cwd=tmp_path, capture_output=True, text=True,
                              timeout=300)

    return record


def bytes_on_disk(*folders):
    """Of several folders together, each file once."""
    files = {(info.st_dev, info.st_ino): info.st_size for folder in folders for path in folder.rglob("*.npy") for info in [path.stat()]}
    return sum(files.values())


def test_an_equal_run_takes_no_room(run, tmp_path):
    assert run(["-o", "golden", "--steps", "all"]).returncode == 0
    done = run(["--against", "golden"])
    assert done.returncode == 0 and "no difference: " in done.stderr, done.stderr
    assert " to equal ones of golden" in done.stderr
    golden, actual = tmp_path / "golden", tmp_path / "opdump_actual"
    names = [sorted(path.name for path in folder.rglob("*.npy")) for folder in (golden, actual)]
    assert len(names[0]) == len(names[1]) > 200
    assert bytes_on_disk(golden, actual) < 1.02 * bytes_on_disk(golden)
    compared = subprocess.run([OPDUMP, "compare", golden, actual], capture_output=True, text=True)
    assert compared.returncode == 0, compared.stdout


@pytest.mark.parametrize("fault, named", [("factor", "Default/mul-op0 (forward, step 5)"), ("missing", "Default/tanh-op0 (forward, step 5)")])
def test_the_program_ends_at_the_first_difference(run, tmp_path, fault, named):
    assert run(["-o", "golden", "--steps", "all"], "--steps", "100").returncode == 0
    done = run(["--against", "golden", "-o", "actual", "--stop-at-first"], "--steps", "100", "--pause", "0.2", "--fault", fault)
    assert done.returncode == 1, done.stderr
    assert f"first bad operator: {named}" in done.stderr, done.stderr
    assert "ending the program at the first difference" in done.stderr
    assert 7 <= len(done.stdout.splitlines()) < 90
    assert (tmp_path / "golden" / "rank_0" / "opdump_status.json").exists()


def test_the_only_step_is_judged_while_the_program_goes_on(run):
    assert run(["-o", "golden"]).returncode == 0
    done = run(["--against", "golden", "--stop-at-first"], "--steps", "200", "--pause", "0.2", "--fault", "factor", "--at", "0")
    assert done.returncode == 1 and "first bad operator: Default/mul-op0 (forward, step 0)" in done.stderr, done.stderr
    assert len(done.stdout.splitlines()) < 150


@pytest.mark.parametrize("kind", [["--stats"], ["--fingerprints"]])
def test_golden_without_tensors(run, kind):
    assert run(["-o", "golden", "--steps", "all", *kind]).returncode == 0
    assert run(["--against", "golden", "-o", "same", "--check"]).returncode == 0
    done = run(["--against", "golden", "-o", "actual", "--check"], "--fault", "factor")
    assert done.returncode == 1 and "step 5" in done.stderr, done.stderr


def test_exit_statuses(run):
    assert run(["-o", "golden"]).returncode == 0
    assert run(["--against", "golden", "-o", "a"], "--fault", "factor", "--at", "0").returncode == 0
    assert run(["--against", "golden", "-o", "b", "--check"], "--fault", "factor", "--at", "0").returncode == 1
    assert run(["--against", "golden", "-o", "c", "--check"], "--exit", "7").returncode == 7
    assert run(["--against", "golden", "-o", "d", "--check", "--steps", "0,3"]).returncode == 3
    missing = run(["--against", "nothing", "-o", "e"])
    assert missing.returncode == 2 and "--against: nothing" in missing.stderr and missing.stdout == ""
    itself = run(["--against", "golden", "-o", "golden"])
    assert itself.returncode == 2 and "the folder to record into" in itself.stderr
    alone = run(["-o", "f", "--stop-at-first"])
    assert alone.returncode == 2 and "--against" in alone.stderr


def test_golden_of_another_program(run, tmp_path):
    assert run(["-o", "golden"]).returncode == 0
    other = [sys.executable, SLOW.parent / "other.py"]
    done = subprocess.run([OPDUMP, "run", "--against", "golden", "--check", "--", *other], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3, done.stderr
    assert len(re.findall(r"nothing compared: of \d+ operators in golden and \d+ in actual none is in both", done.stderr)) == 1, done.stderr
