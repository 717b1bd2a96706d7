"""The place of a recording: its folder, its run, its descriptors; and what the program has of these."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import OPDUMP, Dump

ONE_STEP = """
    import torch
    print("started", flush=True)
    torch.ones(3) * {factor}
"""


def compare(golden, actual):
    return subprocess.run([OPDUMP, "compare", golden, actual], capture_output=True, text=True, timeout=120)


def again(opdump, text, *options, env=None):
    """Runs the program once more, into the folder of the last run."""
    command = [OPDUMP, "run", "--config", opdump.directory / "data_dump.json", *options, "--", sys.executable,
               opdump.script(text)]
    return subprocess.run(command, cwd=opdump.directory, capture_output=True, text=True, timeout=240,
                          env={**os.environ, **(env or {})})


def test_a_folder_with_a_dump_is_refused_replaced_or_added_to(opdump):
    dump = opdump.run(ONE_STEP.format(factor=1))
    first = dump.status
    refused = again(opdump, ONE_STEP.format(factor=2))
    assert refused.returncode == 2 and refused.stdout == ""  # before the program starts
    assert "rank_0: has a dump already: replace it (--force" in refused.stderr
    assert dump.status == first
    (dump.path / "mine.txt").write_text("kept")

    assert again(opdump, ONE_STEP.format(factor=2), "--force").returncode == 0
    assert dump.status["run_id"] != first["run_id"] and dump.status["earlier"] == []
    np.testing.assert_array_equal(dump.tensor("Default/mul-op0", "output.0"), np.full(3, 2, np.float32))
    assert (dump.path / "mine.txt").read_text() == "kept"

    # MindSpore's own door adds, as MindSpore does, and says so.
    added = subprocess.run([sys.executable, "-c", "import opdump, torch; torch.ones(3)"], cwd=opdump.directory, text=True,
                           capture_output=True, timeout=240,
                           env={**os.environ, "MINDSPORE_DUMP_CONFIG": str(opdump.directory / "data_dump.json"),
                                "PYTHONPATH": str(opdump.package)})
    assert added.stderr.count("this recording is added to it") == 1, added.stderr
    assert len(dump.status["earlier"]) == 1
    done = compare(dump.path.parent, dump.path.parent)
    assert done.returncode == 3 and "two recordings were added to one folder" in done.stdout + done.stderr


def test_two_recordings_of_a_process_are_two_runs(opdump):
    config = opdump.config()
    done = opdump.plain(f"""
        import opdump, torch
        def record(**options):
            with opdump.dump({str(config)!r}, **options) as recording:
                torch.ones(3)
            return recording.open().statuses[0]
        record()
        try:
            record()
        except FileExistsError as error:
            print("refused", "has a dump already" in str(error))
        print(record(existing="replace")["state"])
        try:
            record(existing="mix")
        except ValueError as error:
            print(error)
    """, env={"PYTHONPATH": str(opdump.package)})
    assert done.stdout.splitlines() == ["refused True", "complete",
                                        "existing is 'mix'; expected 'refuse', 'replace' or 'append'"], done.stderr


def test_another_run_is_refused_while_one_records_and_not_after_kill_9(opdump):
    process, where = opdump.start("""
        import os, time, torch
        torch.ones(3)
        print(os.getpid(), flush=True)
        time.sleep(600)
    """)
    pid = int(process.stdout.readline())
    refused = again(opdump, ONE_STEP.format(factor=1), "--append")
    assert "another program is recording there" in refused.stderr
    assert again(opdump, ONE_STEP.format(factor=1), "--force").returncode == 2
    os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert again(opdump, ONE_STEP.format(factor=1), "--append").returncode == 0
    assert Dump(where).status["earlier"][0]["state"] == "recording"
    assert compare(where.parent, where.parent).returncode == 3


LOADER = """
    import sys, torch
    from torch.utils.data import DataLoader, Dataset
    class Numbers(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            if i == 0:
                import time; time.sleep(1.1)  # the worker begins in another second than the program
            return torch.full((2,), float(i)) + 1
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with torch.no_grad():
        model[0].weight += float(sys.argv[1]) if len(sys.argv) > 1 else {off}
    for batch in DataLoader(Numbers(), batch_size=2, num_workers=1): model(batch)
    for batch in DataLoader(Numbers(), batch_size=4, num_workers=1): model(batch)
"""


def test_a_worker_records_into_the_time_of_its_run(opdump):
    """O2 and acl.json: of directories of times the last one is read, and a worker had one of its own."""
    dumps = [opdump.run(LOADER.format(off=off), e2e=False, saved_data="tensor", file_format="npy") for off in (0, 0.5)]
    for dump in dumps:
        times = {path.name for path in dump.path.parent.glob("*/2*")}
        assert times == {dump.status["time_directory"]}
        workers = [json.loads(path.read_text()) for path in dump.path.glob("opdump_status.worker0*.json")]
        assert len(workers) == 2 and {worker["run_id"] for worker in workers} == {dump.status["run_id"]}
    done = compare(dumps[0].path.parent, dumps[1].path.parent)
    assert done.returncode == 1, done.stdout + done.stderr


THREADS = """
    import threading, torch
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    def work(seed):
        x = torch.full((3, 4), float(seed))
        for i in range(30):
            y = model(x * i)
            if i % (seed + 2) == 0: y = y.exp()
            if i % 5 == seed: y = (y + 1).tanh()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.mark.parametrize("saved_data", ["full", "statistic"])
def test_a_model_in_several_threads_is_recorded(opdump, saved_data):
    dump = opdump.run(THREADS, saved_data=saved_data)
    assert "removed" not in dump.err and dump.status["state"] == "complete", dump.err
    dump.steps()  # each has one graph


def test_the_program_keeps_its_descriptors_and_its_stderr(opdump):
    dump = opdump.run("""
        import os, sys, torch
        torch.ones(3) + 1
        from opdump._torch import recorder
        recorder.rest()  # what a thread is writing meanwhile would be lost, and it could get descriptor 2
        os.close(2)
        log = os.open("own.log", os.O_WRONLY | os.O_CREAT)  # descriptor 2
        os.closerange(3, 4000)
        own = [os.open(f"own{i}", os.O_WRONLY | os.O_CREAT) for i in range(900)]
        for i in range(40):
            import opdump
            torch.ones(3) * i
            opdump.step()
        print(log, len(os.listdir("/proc/self/fd")) - len(own) < 40)
        for fd in own: os.write(fd, b"own")  # nobody has closed them
    """)
    assert dump.out == "2 True\n"
    assert (opdump.directory / "own.log").read_bytes() == b""
    assert {path.read_bytes() for path in opdump.directory.glob("own[0-9]*")} == {b"own"}
    assert dump.err == ""  # it has closed every way to its stderr
    assert dump.status["state"] == "complete"
    assert len(dump.rows(0)) == 8 and len(dump.rows(39)) == 4


def test_what_is_said_goes_to_the_stderr_of_the_beginning(opdump):
    dump = opdump.run("""
        import os, torch
        torch.ones(3) + 1
        from opdump._torch import recorder
        recorder.rest()  # no thread of ours opens a file meanwhile, which could get descriptor 2
        os.close(2)
        assert os.open("own.log", os.O_WRONLY | os.O_CREAT) == 2
    """)
    assert dump.err.startswith("opdump: dumped") and (opdump.directory / "own.log").read_bytes() == b""


def test_a_step_costs_no_detours_and_few_descriptors(opdump):
    dump = opdump.run("""
        import os, sys, torch
        model = torch.nn.Sequential(torch.nn.Linear(2, 2))
        x = torch.ones(1, 2)
        for i in range(100): model(x)
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name) if event == "call" else None)
        x.storage()
        sys.setprofile(None)
        print(calls.count("settled") <= 3, len(os.listdir("/proc/self/fd")) < 40)
    """, saved_data="statistic")
    assert dump.out == "True True\n"


def test_nohup_is_kept():
    program = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    script = f"trap '' HUP; exec {OPDUMP} run --compat torchair -- {sys.executable} -S -c '{program}'"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr
    process = subprocess.Popen(
        ["sh", "-c", f"trap '' HUP; exec {OPDUMP} run --compat torchair -- sh -c 'echo on; read line; echo $line'"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    out, _ = process.communicate("end\n", timeout=60)
    assert out == "end\n" and process.returncode == 0
