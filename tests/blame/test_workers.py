"""opdump blame runs operators again in several processes where there are many, and ends them when it is done."""

import json
import os
import pathlib
import stat
import subprocess
import sys

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])

# Each result differs a little if the precision does. One of the two may have a multiplication more.
PROGRAM = """
import sys
import torch

torch.manual_seed(3)
x = torch.rand(1 << 15).to(getattr(torch, sys.argv[1]))
for i in range(600):
    x = torch.cos(x) * 1.001 if i == int(sys.argv[2]) else torch.cos(x)
"""


def record(folder, name, *arguments):
    (folder / "program.py").write_text(PROGRAM)
    subprocess.run([OPDUMP, "run", "-o", folder / name, "--", sys.executable, folder / "program.py", *arguments], check=True,
                   capture_output=True, timeout=300)
    return folder / name


def blame(folder, golden, actual):
    """The answer, and the processes that were started for it."""
    log, python = folder / "started", folder / "python"
    log.write_text("")
    python.write_text(f'#!/bin/sh\necho $$ >> "{log}"\nexec "{sys.executable}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run([OPDUMP, "blame", golden, actual, "--json", "--python", python], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout), log.read_text().split()


def test_many_operators_run_again_in_several_processes(tmp_path):
    golden = record(tmp_path, "golden", "float64", "-1")
    answer, processes = blame(tmp_path, golden, record(tmp_path, "actual", "float32", "-1"))
    assert (answer["outcome"], answer["findings"]) == ("rounding", [])
    assert answer["replayed"] > 500
    assert len(processes) == min(4, len(os.sched_getaffinity(0)))
    assert not [pid for pid in processes if pathlib.Path(f"/proc/{pid}").exists()], "they end with it"

    actual = record(tmp_path, "faulty", "float32", "500")
    first, second = blame(tmp_path, golden, actual)[0], blame(tmp_path, golden, actual)[0]
    assert first == second and first["findings"][0]["type"] == "mul", "two calls give one answer"
