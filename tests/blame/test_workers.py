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


def record(folder, name, *arguments, program=PROGRAM):
    (folder / "program.py").write_text(program)
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


# Takes the place of the Python that runs operators again, and ends where that is asked for a tanh.
ENDED_BY_TANH = """#!{python} -B
import subprocess, sys
with subprocess.Popen([{python!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
    for request in sys.stdin.buffer:
        if b'"aten::tanh' in request:
            worker.kill()
            sys.exit(1)
        worker.stdin.write(request)
        worker.stdin.flush()
        sys.stdout.buffer.write(worker.stdout.readline())
        sys.stdout.buffer.flush()
"""

TANH_AND_COS = """
import sys
import torch

torch.manual_seed(3)
x = torch.rand(1000).to(getattr(torch, sys.argv[1]))
for i in range(20):
    x = torch.cos(x) * 1.001 if i == int(sys.argv[2]) else torch.cos(x)
    x = torch.tanh(x) if i in (1, 2) else x
"""


def test_an_operator_that_ends_the_process_is_left_out(tmp_path):
    python = tmp_path / "python"
    python.write_text(ENDED_BY_TANH.format(python=sys.executable))
    python.chmod(0o755)
    golden = record(tmp_path, "golden", "float64", "-1", program=TANH_AND_COS)
    answers = []
    for name, place in (("actual", "-1"), ("faulty", "10")):
        actual = record(tmp_path, name, "float32", place, program=TANH_AND_COS)
        done = subprocess.run([OPDUMP, "blame", golden, actual, "--json", "--python", python], capture_output=True, text=True,
                              timeout=300)
        answers.append((done.returncode, json.loads(done.stdout)))
    for status, answer in answers:
        assert answer["not_replayed"] == [f"2 operators: {python} ended before it answered: out of memory?"]
    (nothing, without), (found, culprit) = answers
    assert (nothing, without["outcome"], without["findings"], without["replayed"] > 20) == (0, "rounding", [], True)
    assert found == 1 and culprit["findings"][0]["type"] == "mul", culprit
