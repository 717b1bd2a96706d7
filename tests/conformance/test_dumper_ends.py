"""A dumper's file says whether it is whole: killed, cut short, left with a loss, and in the hands of every verb."""

import json
import subprocess

import h5py
import numpy as np
import pytest
from conftest import BUILD, OPDUMP

# Each child kills itself after so many operators, or after the large tensor; none: it comes to its end.
KILLED = """
    import os, signal, sys, torch
    from opdump.dumper import dumper

    def run(name, after=None):
        child = os.fork()
        if child == 0:
            torch.manual_seed(0)
            x = torch.randn(8, 8)
            with dumper(use_dump=True, dump_path=name, device_type=10):
                for i in range(60):
                    if i == after:
                        os.kill(os.getpid(), signal.SIGKILL)
                    x = torch.tanh(x @ x)
                    if i == 30:
                        large = torch.ones(600_000) * i
            os._exit(0)
        print(name, os.waitpid(child, 0)[1])

    for after in (1, 2, 17, 31, 59):
        run(f"killed{after}.h5", after)
    run("whole.h5")
    run("again.h5")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from conftest import Runner

    runner = Runner(tmp_path_factory.mktemp("ends"))
    done = runner.plain(KILLED, env={"PYTHONPATH": str(BUILD / "python")})
    ends = [line for line in done.stdout.splitlines() if not line.startswith("IR:")]
    assert done.returncode == 0, done.stderr
    assert ends == [f"killed{n}.h5 9" for n in (1, 2, 17, 31, 59)] + ["whole.h5 0", "again.h5 0"]
    return runner.directory


def verb(folder, *arguments):
    return subprocess.run([OPDUMP, *arguments], cwd=folder, capture_output=True, text=True)


def state(path):
    with h5py.File(path) as file:
        return {name: value.decode() for name, value in file.attrs.items()}


@pytest.mark.parametrize("after", (1, 2, 17, 31, 59))
def test_a_killed_recording_is_incomplete_and_names_no_culprit(folder, after):
    killed = f"killed{after}.h5"
    assert state(folder / killed)["opdump_state"] == "recording"
    for golden, actual in (("whole.h5", killed), (killed, "whole.h5")):
        done = verb(folder, "compare", golden, actual)
        assert done.returncode == 3, done.stdout
        assert "the recording is unfinished" in done.stdout
        assert "first bad operator" not in done.stdout and "no difference found, but" in done.stdout
    assert "rank 0: recording is unfinished" in verb(folder, "ls", killed).stdout


def test_every_verb_says_it(folder):
    for arguments in (("show", "killed17.h5", "mm"), ("convert", "killed17.h5", "--output", "converted")):
        assert "killed17.h5: rank 0: the recording is unfinished" in verb(folder, *arguments).stderr
    done = verb(folder, "msaccucmp", "compare", "-m", "killed17.h5", "-g", "whole.h5", "-out", "table")
    assert "The recording of" in done.stdout + done.stderr and "killed17.h5 did not end" in done.stdout + done.stderr
    summary = json.loads(verb(folder, "ls", "--json", "killed17.h5").stdout.splitlines()[-1])
    assert summary["states"] == {"0": "recording"}


def test_a_whole_one_is_complete(folder):
    found = state(folder / "whole.h5")
    assert found["opdump_state"] == "complete" and found["opdump_loss"] == ""
    assert verb(folder, "compare", "whole.h5", "again.h5").returncode == 0
    assert "rank 0: recording complete, opdump" in verb(folder, "ls", "whole.h5").stdout
    assert "recording" not in verb(folder, "show", "whole.h5", "ones").stderr


def test_of_a_file_of_the_original_nothing_is_said(folder):
    """It has no state: a copy without the attributes is what the original writes."""
    with h5py.File(folder / "whole.h5") as whole, h5py.File(folder / "original.h5", "w") as original:
        for name in whole:
            whole.copy(name, original)
    assert "recording" not in verb(folder, "ls", "original.h5").stdout
    assert verb(folder, "compare", "original.h5", "whole.h5").returncode == 0


def test_a_file_that_was_cut_says_so(folder):
    whole = (folder / "whole.h5").read_bytes()
    for part in (0.2, 0.9):
        (folder / "cut.h5").write_bytes(whole[: int(len(whole) * part)])
        done = verb(folder, "compare", "whole.h5", "cut.h5")
        assert done.returncode == 3 and "truncated" in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_loss_makes_it_incomplete(opdump):
    """A full disk: what was written is there, and the file is not called complete."""
    done = opdump.plain("""
    import resource, signal, torch
    from opdump.dumper import dumper
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with dumper(use_dump=True, dump_path="a.h5"):
        x = torch.ones(100)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        for i in range(9):
            x = (torch.ones(50_000) + i)[:100]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    """, env={"PYTHONPATH": str(BUILD / "python")})
    assert done.returncode == 0 and "the file is not complete" in done.stderr, done.stderr
    found = state(opdump.directory / "a.h5")
    assert found["opdump_state"] == "incomplete" and "file write failed" in found["opdump_loss"]
    listed = verb(opdump.directory, "ls", "a.h5").stdout
    assert "recording incomplete" in listed and "missing: 1 x dataset not written" in listed


def test_descriptors_that_the_program_closed(opdump):
    """The program's files are its own, and the recording goes on."""
    done = opdump.plain("""
    import os, torch
    from opdump.dumper import dumper
    with dumper(use_dump=True, dump_path="a.h5"):
        x = torch.ones(3).exp()
        ours = [int(n) for n in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{n}") == os.path.realpath("a.h5")]
        assert ours and min(ours) > 100 and not any(os.get_inheritable(number) for number in ours)
        os.closerange(3, 1 << 16)
        own = os.open("own", os.O_RDWR | os.O_CREAT)
        for number in ours:
            os.dup2(own, number)
        for i in range(300):
            x = x + torch.full((3,), float(i))
        large = torch.ones(600_000) * 2
    for number in (own, *ours):
        assert os.fstat(number).st_size == 0
    """, env={"PYTHONPATH": str(BUILD / "python")})
    assert done.returncode == 0, done.stderr
    assert state(opdump.directory / "a.h5")["opdump_state"] == "complete"
    with h5py.File(opdump.directory / "a.h5") as file:
        assert len(file["add_Tensor"]) == 300
        [large] = file["mul_Tensor"].values()
        assert (np.asarray(large["output/result"]) == 2).all()


def test_standard_output_that_changed_hands(opdump):
    """Lines go to the standard output that there was when the mode began, or nowhere."""
    done = opdump.plain("""
    import os, sys, torch
    from opdump.dumper import dumper
    with dumper(use_dump=True, dump_path="a.h5"):
        torch.ones(3).exp()
        os.close(1)
        mine = os.open("mine", os.O_WRONLY | os.O_CREAT)
        assert mine == 1
        torch.ones(3).exp()
    """, env={"PYTHONPATH": str(BUILD / "python")})
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert (opdump.directory / "mine").read_bytes() == b""
