"""opdump blame runs operators again in several processes where there are many, and ends them when it is done."""

import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

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
    """The answer, and the processes that were started for it, of which all but the first are forks of it."""
    log, python = folder / "started", folder / "python"
    log.write_text("")
    (folder / "sitecustomize.py").write_text(
        f"import os\ndef note():\n    open({str(log)!r}, 'a').write(f'{{os.getpid()}}\\n')\nnote()\nos.register_at_fork(after_in_child=note)\n")
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run([OPDUMP, "blame", golden, actual, "--json", "--python", python], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout), log.read_text().split()


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_interrupt_ends_the_processes_and_prints_nothing(tmp_path):
    golden = record(tmp_path, "golden", "float64", "-1", program=COS_AND_TANH)
    log, python = tmp_path / "started", tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho $$ > "{log}.new"\nmv "{log}.new" "{log}"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with subprocess.Popen([OPDUMP, "blame", golden, record(tmp_path, "actual", "float32", "10", program=COS_AND_TANH), "--python", python],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as done:
        wait_for(log.exists)
        os.killpg(done.pid, signal.SIGINT)
        assert done.communicate(timeout=30) == (b"", b"")
    assert done.returncode == -signal.SIGINT
    worker = pathlib.Path("/proc", log.read_text().strip())
    wait_for(lambda: not worker.exists())


def test_many_operators_run_again_in_several_processes(tmp_path):
    golden = record(tmp_path, "golden", "float64", "-1")
    answer, processes = blame(tmp_path, golden, record(tmp_path, "actual", "float32", "-1"))
    assert (answer["outcome"], answer["findings"]) == ("rounding", [])
    assert answer["replayed"] > 500
    assert len(processes) == min(4, len(os.sched_getaffinity(0)))
    wait_for(lambda: not [pid for pid in processes if pathlib.Path(f"/proc/{pid}").exists()])

    actual = record(tmp_path, "faulty", "float32", "595")  # near the end: what a cosine is taken of again and again tends to one number
    first, second = blame(tmp_path, golden, actual)[0], blame(tmp_path, golden, actual)[0]
    assert first == second and first["findings"][0]["type"] == "mul", "two calls give one answer"


# Takes the place of the Python that runs operators again, and ends where it is asked for this.
ENDED_BY = """#!{python} -B
import os, subprocess, sys
with subprocess.Popen([{python!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
    for request in sys.stdin.buffer:
        if {condition}:
            worker.kill()
            os.kill(os.getpid(), {signal})
        worker.stdin.write(request)
        worker.stdin.flush()
        sys.stdout.buffer.write(worker.stdout.readline())
        sys.stdout.buffer.flush()
"""

COS_AND_TANH = """
import sys
import torch

torch.manual_seed(3)
x = torch.rand(1000).to(getattr(torch, sys.argv[1]))
for i in range(20):
    x = torch.cos(x) * 1.001 if i == int(sys.argv[2]) else torch.cos(x)
    x = torch.tanh(x) if i in (1, 2) else x
"""


def test_an_operator_that_ends_the_process_is_left_out(tmp_path):
    golden = record(tmp_path, "golden", "float64", "-1", program=COS_AND_TANH)
    actual = record(tmp_path, "actual", "float32", "-1", program=COS_AND_TANH)
    faulty = record(tmp_path, "faulty", "float32", "10", program=COS_AND_TANH)

    def blame_without(operator, number, dump, by=signal.SIGSEGV, how="killed by signal 11 (SIGSEGV)"):
        status, answer, python = blame_ended(tmp_path, golden, dump, f"b'\"aten::{operator}' in request", by)
        assert answer["not_replayed"] == [
            f"{number} operators: aten::{operator}: {python} ended before it answered: {how}, first at Default/{operator}-op0"]
        return status, answer

    status, answer = blame_without("tanh", 2, actual)
    assert (status, answer["outcome"], answer["replayed"] > 20) == (0, "rounding", True)
    status, answer = blame_without("tanh", 2, faulty, signal.SIGKILL, "killed by signal 9 (SIGKILL): out of memory?")
    assert (status, answer["findings"][0]["type"]) == (1, "mul")
    status, answer = blame_without("cos", 20, actual)  # the first one, and more often than a process is started
    assert (status, answer["outcome"]) == (0, "rounding")


TWO_FACTORS = """
import sys
import torch

torch.manual_seed(3)
x = torch.rand(1000)
for factor in sys.argv[1:]:
    x = torch.tanh(torch.cos(x) * float(factor))
print(torch.sin(x).sum())
"""


def test_several_culprits_are_ranked_without_an_operator_that_ends_the_process(tmp_path):
    golden = record(tmp_path, "golden", "1.5", "0.5", program=TWO_FACTORS)
    actual = record(tmp_path, "actual", "1.6", "0.7", program=TWO_FACTORS)
    status, answer, _ = blame_ended(tmp_path, golden, actual, "b'without' in request and b'aten::tanh' in request", signal.SIGSEGV)
    assert status == 1 and answer["not_replayed"] == []
    assert [(f["type"], f["removes"] is not None) for f in answer["findings"]] == [("mul", True)] * 2, answer
    assert [note for note in answer["notes"] if "ends the process" in note], answer


def blame_ended(folder, golden, actual, condition, by):
    """The status and the answer, where the process that runs operators again is ended by a signal, and the process."""
    python = folder / "python"
    python.write_text(ENDED_BY.format(python=sys.executable, condition=condition, signal=int(by)))
    python.chmod(0o755)
    done = subprocess.run([OPDUMP, "blame", golden, actual, "--json", "--python", python], capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), python
