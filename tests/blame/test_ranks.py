"""A fault on one of two ranks, which an all-reduce hands on to the other: named is the operator of the rank that has it."""

import json
import os
import re
import socket
import subprocess
import sys

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
PROGRAM = '''
import os, torch, torch.distributed as dist, torch.nn as nn
fault, rank = os.environ["FAULT"], int(os.environ["RANK"])
if fault == "kernel" and rank == 1:
    library = torch.library.Library("aten", "IMPL")
    library.impl("tanh", lambda x: (2 * torch.sigmoid(2 * x) - 1).mul_(1.003), "CPU")
elif fault in ("none", "rounding"):
    library = torch.library.Library("aten", "IMPL")
    library.impl("tanh", lambda x: 2 * torch.sigmoid(2 * x) - 1, "CPU")
dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
generator = torch.Generator().manual_seed(5 + rank)
for step in range(2):
    x, y = torch.randn(8, 16, generator=generator), torch.randint(0, 4, (8,), generator=generator)
    if fault == "data" and rank == 1:
        x.numpy()[0] += 1
    if fault == "rounding" and rank == 1:
        x.numpy()[0, 0] *= 1 + 2e-7
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
dist.destroy_process_group()
'''


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "train.py").write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def record(fault):
        if (folder / fault).exists():
            return fault
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1", "FAULT": fault}
        ranks = [subprocess.Popen([OPDUMP, "run", "-o", fault, "--steps", "all", "--", sys.executable, "train.py"], cwd=folder, text=True,
                                  stderr=subprocess.PIPE, env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                 for rank in range(2)]
        for process in ranks:
            said = process.communicate(timeout=300)[1]
            assert process.returncode == 0, said
        return fault

    return folder, record


def opdump(folder, *words, status=1):
    done = subprocess.run([OPDUMP, *words], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("fault, operator", [("kernel", "Default/1-Tanh/tanh-op0"), ("data", "Default/0-Linear/addmm-op0")])
def test_the_rank_with_the_fault_is_named(runs, fault, operator):
    folder, record = runs
    golden, actual = record("none"), record(fault)
    said = opdump(folder, "compare", golden, actual, "--op", "allreduce")
    assert f"first bad operator: {operator} (forward, step 0, rank 1)" in re.sub(r"\s+", " ", said)
    rows = [json.loads(line) for line in opdump(folder, "compare", golden, actual, "--json", "--all").splitlines()]
    reduced = [row for row in rows if "allreduce" in row.get("operator", "") and row.get("rank") == 0 and row.get("slot", "").startswith("output")]
    assert reduced and {row["verdict"] for row in reduced} == {"inherited"}
    [found, *_] = json.loads(opdump(folder, "blame", golden, actual, "--json", "--python", sys.executable))["findings"]
    assert (found["operator"], found["rank"], found["step"], found["confidence"]) == (operator, 1, 0, "certain")
    assert found["cause"] == {"kernel": "own_error", "data": "overwritten"}[fault]


def test_rounding_of_another_rank_is_rounding(runs):
    folder, record = runs
    assert "no difference" in opdump(folder, "compare", record("none"), record("rounding"), status=0)
