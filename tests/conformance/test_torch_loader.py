"""Data-loading workers: the order in which batches arrive must not be seen, and a worker that misses nothing is complete."""

import json
import subprocess

import pytest

from conftest import OPDUMP

# The workers race each other: which of two is slower changes with each run.
TRAINING = """
    import os, random, sys, time, torch

    class Squares(torch.utils.data.Dataset):
        def __len__(self): return 16
        def __getitem__(self, i):
            if RACES: time.sleep(random.SystemRandom().choice((0, 0, 0.02)))
            return torch.full((3,), float(i)).exp2()

    if __name__ == "__main__":
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
        loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2, **OPTIONS)
        for epoch in range(EPOCHS):
            for number, x in enumerate(loader):
                optimizer.zero_grad()
                model(x).sum().backward()
                optimizer.step()
                if number == BREAK: break
"""


def training(races=False, epochs=1, stop=-1, **options):
    text = TRAINING.replace("RACES", str(races)).replace("EPOCHS", str(epochs)).replace("BREAK", str(stop))
    return text.replace("OPTIONS", repr(options))


def compare(golden, actual):
    return subprocess.run([OPDUMP, "compare", golden.path.parent, actual.path.parent], capture_output=True, text=True)


@pytest.mark.parametrize("stop", [-1, 2])
def test_the_order_of_arrival_is_not_seen(opdump, stop):
    dumps = [opdump.run(training(races=True, stop=stop)) for _ in range(3)]
    for dump in dumps:
        # The loop breaks after a step of the optimizer; a loader at its end is asked once more, which is no step and runs no
        # operator in newer torch.
        assert dump.status["last_step"] == (2 if stop > 0 else 7)
        assert dump.status["tail_step"] in ((-1,) if stop > 0 else (8, -1))
        assert {o["type"] for n, o in dump.operators.items() if not n.startswith("Default/worker")} & {"set_"} == set()
    for golden, actual in ((0, 1), (1, 2), (0, 2)):
        done = compare(dumps[golden], dumps[actual])
        assert done.returncode == 0 and "no difference:" in done.stdout, done.stdout


def states(dump):
    return {path.name: json.loads(path.read_text())["state"] for path in dump.path.glob("opdump_status*.json")}


def listing(dump):
    return subprocess.run([OPDUMP, "ls", dump.path.parent], capture_output=True, text=True).stdout.splitlines()[1]


@pytest.mark.parametrize("options", [{"persistent_workers": True}, {"multiprocessing_context": "forkserver"}],
                         ids=["persistent", "forkserver"])
def test_workers_that_miss_nothing_are_complete(opdump, options):
    dump = opdump.run(training(epochs=2, **options))
    assert "recording complete" in listing(dump), (listing(dump), states(dump))
    assert set(states(dump).values()) <= {"complete", "idle"} and len(states(dump)) >= 3
    names = {name.split("/")[1] for name in dump.operators if name.startswith("Default/worker")}
    assert names == {"worker0", "worker1"}
    assert not any("Process-" in name for name in dump.operators)


# The sample FATAL kills the worker.
KILLED = """
    import multiprocessing, os, signal, torch
    received = multiprocessing.Event()  # a tensor on its way from a worker that dies raises another error
    torch.manual_seed(0)

    class Squares(torch.utils.data.Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            value = torch.full((3,), float(i)).exp2()
            if i == FATAL:
                received.wait()
                os.kill(os.getpid(), signal.SIGKILL)
            return value

    try:
        for x in torch.utils.data.DataLoader(Squares(), num_workers=1):
            received.set()
    except Exception:
        print("killed")
"""


def test_a_killed_worker_is_missed(opdump):
    """And a comparison is incomplete for it, whichever run it is of, and finds no difference."""
    sound, dump = (opdump.run(KILLED.replace("FATAL", fatal)) for fatal in ("-1", "1"))
    assert sound.out == "" and "recording complete" in listing(sound)
    assert dump.out == "killed\n" and "recording incomplete" in listing(dump)
    for golden, actual, sides in (sound, dump, ["actual"]), (dump, sound, ["golden"]), (dump, dump, ["golden", "actual"]):
        done = compare(golden, actual)
        assert done.returncode == 3, done.stdout
        assert done.stdout.splitlines()[-1].startswith("no difference found, but the result is incomplete"), done.stdout
        for side in sides:
            assert f"incomplete: {side} rank 0: 1 x end of the recording of worker0 (it was cut short)" in done.stdout


def test_two_loaders_of_one_step(opdump):
    dump = opdump.run("""
        import torch
        loaders = [torch.utils.data.DataLoader([torch.ones(2) * i for i in range(2)], num_workers=1) for _ in range(2)]
        for x, y in zip(*loaders):
            pass
    """)
    assert {name.split("/")[1] for name in dump.operators if "/worker" in name} == {"worker0", "worker0_1"}
    assert "recording complete" in listing(dump)
