"""Two models in one recording of CANN are compared model by model."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "msaccucmp"))
from conftest import dump_file, tensor

FLOAT, ND = 1, 2


def write(root, time, wrong=None, ids=(1, 2)):
    for model, number in zip(("encoder", "decoder"), ids):
        for step in range(2):
            folder = root / f"{time}/0/{model}/{number}/{step}"
            folder.mkdir(parents=True)
            for i in range(3):
                values = np.arange(4, dtype="f4") + i + (model == "decoder") + 7 * (wrong == (model, step, i))
                dump_file(folder / f"Relu.relu{i}.{i}.5.{1700000000000000 + i}", [tensor(FLOAT, ND, (4,), values.tobytes())])


def compare(root, *words):
    return subprocess.run([os.environ["OPDUMP_BIN"], "compare", *map(str, words)], capture_output=True, text=True, cwd=root)


@pytest.mark.parametrize("ids,others", [((1, 2), (1, 2)), ((1, 1), (1, 1)), ((1, 2), (2, 1)), ((1, 2), (3, 4)), ((1, 2), (2, 3))])
def test_equal(tmp_path, ids, others):
    write(tmp_path / "a", "20260101000000", ids=ids)
    write(tmp_path / "b", "20260102000000", ids=others)
    done = compare(tmp_path, "a", "b")
    assert done.returncode == 0 and "compared 12 of 12 tensors" in done.stdout, done.stdout


@pytest.mark.parametrize("ids", [(1, 2), (1, 1)])
def test_a_fault_in_one(tmp_path, ids):
    write(tmp_path / "a", "20260101000000", ids=ids)
    write(tmp_path / "b", "20260102000000", ("decoder", 1, 2), ids)
    done = compare(tmp_path, "a", "b")
    assert done.returncode == 1 and "first bad operator: decoder/relu2" in done.stdout, done.stdout
    assert compare(tmp_path, "a/20260101000000/0/encoder", "b/20260102000000/0/encoder").returncode == 0


def test_of_two_recordings_the_last_one_is_read(tmp_path):
    write(tmp_path / "a", "20260101000000", ("decoder", 1, 2))
    write(tmp_path / "a", "20260102000000")
    write(tmp_path / "b", "20260103000000")
    done = compare(tmp_path, "a", "b")
    assert done.returncode == 0 and "compared 12 of 12 tensors" in done.stdout, done.stdout
    assert "warning: a: only the last of several recordings is read; pass a/20260101000000" in done.stderr
    done = compare(tmp_path, "a/20260101000000", "b")
    assert (done.returncode, done.stderr) == (1, ""), "the other one if it is named"


@pytest.mark.parametrize("verb, more", [("ls", ["--json"]), ("show", ["encoder/relu2", "--step", "1"]), ("convert", ["-o", "out"])])
def test_every_verb_reads_the_last_recording(verb, more, tmp_path):
    write(tmp_path / "a", "20260101000000", ("encoder", 1, 2))
    write(tmp_path / "a", "20260102000000")
    write(tmp_path / "a", "20251231000000")

    def run(dump):
        words = [os.environ["OPDUMP_BIN"], verb, dump, *more]
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    done = run("a")
    assert done.returncode == 0
    assert done.stderr == ("opdump: warning: a: only the last of several recordings is read; "
                           "pass a/20251231000000 to read that one\n")
    if verb == "convert":
        files = sorted((tmp_path / "out").rglob("*.npy"))
        assert len(files) == 12 and max(np.load(file).max() for file in files) == 6
        for file in files:
            file.unlink()
    named = run("a/20260102000000")
    assert (named.returncode, named.stderr) == (0, "")
    if verb == "show":
        assert named.stdout == done.stdout
        assert run("a/20260101000000").stdout != done.stdout


def test_recordings_of_other_models_are_not_left_out(tmp_path):
    write(tmp_path / "a", "20260101000000")
    (tmp_path / "a/20260101000000/0/decoder").rename(tmp_path / "a/20260101000000/0/other")
    write(tmp_path / "a", "20260102000000")
    done = compare(tmp_path, "a", "a")
    assert done.returncode == 3 and "several recordings of rank 0" in done.stdout, done.stdout
