"""`opdump ls` lists the operators that overflowed."""
import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "msaccucmp"))
from conftest import dump_file, tensor

FLOAT, BYTE, ND = 1, 4, 2
STEPS = 3


def record(stream, task, status):
    """What the AI Core records of an overflow."""
    text = bytearray(2048)
    struct.pack_into("<4Q", text, 256, 1, stream, task, 0)
    struct.pack_into("<3Q", text, 1024, 0xabc, 0, status)
    return bytes(text)


def write(root):
    """In every step the operator that is task 7 of stream 5 overflows, in the last one also another that was not dumped."""
    values = np.ones(4, "f4").tobytes()
    for step in range(STEPS):
        folder = root / f"20260101000000/0/net/1/{step}"
        folder.mkdir(parents=True)
        for task in (6, 7):
            dump_file(folder / f"Relu.relu{task}.{task}.5.{1700000000000000 + task}", [tensor(FLOAT, ND, (4,), values)])
        for task in (7, 9)[:1 + (step == STEPS - 1)]:
            name = f"Opdebug.Node_OpDebug.{task}.5.{1700000000000100 + task}"
            dump_file(folder / name, [tensor(BYTE, ND, (2048,), record(5, task, 16 + task))])


def ls(root, *words):
    return subprocess.run([os.environ["OPDUMP_BIN"], "ls", root, *words], capture_output=True, text=True, check=True).stdout


def test_in_order(tmp_path):
    write(tmp_path)
    lines = [line for line in ls(tmp_path).splitlines() if line.startswith("overflow: ")]
    assert lines == [f"overflow: step {step}, relu7 (status 23)" for step in range(STEPS)] + [
        f"overflow: step {STEPS - 1}, task 9 of stream 5 (status 25)"]


def test_json(tmp_path):
    write(tmp_path)
    lines = ls(tmp_path, "--json").splitlines()
    summary = json.loads(lines[-1])
    assert len(lines) == 2 * STEPS + 1 and summary["steps"] == list(range(STEPS)) and summary["problems"] == []
    assert [(each["step"], each["operator"], each["status"]) for each in summary["overflows"]] == [
        *((step, "relu7", 23) for step in range(STEPS)), (STEPS - 1, "task 9 of stream 5", 25)]
    assert all(pathlib.Path(each["file"]).name.startswith("Opdebug.") for each in summary["overflows"])


def test_none(tmp_path):
    write(tmp_path)
    for file in tmp_path.rglob("Opdebug*"):
        file.unlink()
    assert "overflow" not in ls(tmp_path)
    assert json.loads(ls(tmp_path, "--json").splitlines()[-1])["overflows"] == []
