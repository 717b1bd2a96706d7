"""An engine in C that gives no configuration: `opdump run`, with and without --against, and `opdump diff` record it as any program."""

import json
import os
import pathlib
import subprocess

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
ENGINE = os.environ["OPDUMP_ENGINE"]


@pytest.fixture
def opdump(tmp_path):
    def run(*arguments):
        return subprocess.run([OPDUMP, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run


def test_alone_it_records_nothing(tmp_path):
    done = subprocess.run([ENGINE, "3"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 3, "") and not list(tmp_path.iterdir())


def test_an_equal_run_takes_no_room(opdump, tmp_path):
    done = opdump("run", "-o", "golden", "--steps", "all", "--", ENGINE)
    assert done.returncode == 0 and "opdump: dumped " in done.stderr and "nothing was dumped" not in done.stderr, done.stderr
    done = opdump("run", "--against", "golden", "--check", "--", ENGINE)
    assert done.returncode == 0 and "no difference: " in done.stderr, done.stderr
    files = [path.stat() for path in (tmp_path / "opdump_actual").rglob("*.npy")]
    assert len(files) >= 60 and all(info.st_nlink > 1 for info in files)


def test_it_ends_at_the_first_difference(opdump):
    assert opdump("run", "-o", "golden", "--steps", "all", "--", ENGINE, 200).returncode == 0
    done = opdump("run", "--against", "golden", "--stop-at-first", "--", ENGINE, 200, 5, 100)
    assert done.returncode == 1 and "first bad operator: Default/scale-Scale/Mul-op0 (forward, step 5)" in done.stderr, done.stderr
    assert 7 <= len(done.stdout.splitlines()) < 190


@pytest.mark.parametrize("kind", ["--stats", "--fingerprints"])
def test_golden_without_tensors(opdump, kind):
    assert opdump("run", "-o", "golden", "--steps", "all", kind, "--", ENGINE).returncode == 0
    assert opdump("run", "--against", "golden", "--check", "-o", "same", "--", ENGINE).returncode == 0
    done = opdump("run", "--against", "golden", "--check", "-o", "other", "--", ENGINE, 20, 13)
    assert done.returncode == 1 and "Mul-op0 (forward, step 13)" in done.stderr, done.stderr


def test_diff_finds_the_step(opdump):
    done = opdump("diff", "--json", ENGINE, f"{ENGINE} 20 13")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["step"], answer["operator"]) == (1, 13, "Default/scale-Scale/Mul-op0"), done.stderr


def test_a_folder_that_has_a_dump_of_this_rank(opdump, tmp_path):
    """The engine opens the recording itself; why it cannot is said, although it prints nothing."""
    assert opdump("run", "-o", "golden", "--", ENGINE).returncode == 0
    (tmp_path / "golden" / "rank_0").rename(tmp_path / "rank_0")
    config = tmp_path / "golden" / "opdump_config.json"
    done = opdump("run", "--config", config, "--", "/bin/sh", "-c", f"mv rank_0 golden/ && exec {ENGINE}")
    assert done.returncode == 4 and "has a dump already" in done.stderr and "nothing was dumped" not in done.stderr, done.stderr
