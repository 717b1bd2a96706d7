"""Two processes of torch.distributed write two rank directories."""

import json
import os
import subprocess
import sys

import pytest

from conftest import OPDUMP, Dump

TRAIN = """
    import os, sys
    import torch
    import torch.distributed as dist
    from torch import nn

    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=int(os.environ["RANK"]),
                            world_size=int(os.environ["WORLD_SIZE"]))
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(4, 3)
            self.fc2 = nn.Linear(3, 2)
        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))

    net = nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        loss = net(torch.full((2, 4), float(dist.get_rank() + 1))).square().sum()
        loss.backward()
        optimizer.step()
        print(step, loss.item().hex())
    print(sum(p.sum().item() for p in net.parameters()).hex())
    dist.destroy_process_group()
"""


def run(opdump, prefix):
    script = opdump.script(TRAIN)
    (opdump.directory / "store").unlink(missing_ok=True)
    processes = [subprocess.Popen([*prefix, sys.executable, script], cwd=opdump.directory, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"})
                 for rank in range(2)]
    results = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], results
    return [out for out, _ in results]


def test_two_ranks(opdump):
    plain = run(opdump, [])
    config = opdump.config(saved_data="full", iteration="0-1")
    assert run(opdump, [OPDUMP, "run", "--config", config, "--"]) == plain, "they do not notice"
    root = opdump.directory / "dump0"
    assert sorted(path.name for path in root.iterdir()) == ["rank_0", "rank_1"]
    dumps = [Dump(root / f"rank_{rank}") for rank in range(2)]
    for dump in dumps:
        assert dump.steps() == [0, 1]
        assert json.loads((dump.path / "opdump_status.json").read_text())["state"] == "complete"
    name = next(name for name in dumps[0].operators if name.endswith("fc1-Linear/addmm-op0"))
    assert [float(dump.tensor(name, "input.1", 0)[0, 0]) for dump in dumps] == [1, 2], "each rank has its own data"
    ls = subprocess.run([OPDUMP, "ls", root, "--step", "1"], capture_output=True, text=True)
    assert ls.returncode == 0 and ls.stdout.startswith("2 ranks"), ls.stdout + ls.stderr


@pytest.mark.parametrize("variable, value", [("RANK_ID", "-1"), ("RANK", "x"), ("SLURM_PROCID", "99999999999"),
                                             ("RANK_ID", "1 2"), ("DEVICE_ID", "-3"), ("LOCAL_RANK", "0x1")])
def test_a_rank_that_is_no_number_is_a_mistake(opdump, variable, value):
    dump = opdump.run("print('begun')\nimport torch\nprint('here')", expect=2, env={variable: value})
    assert dump.out == "" and not dump.path.parent.exists(), "the program is not started"
    assert dump.err == (f"opdump: {variable} is '{value}' in the environment; expected a number from 0 to 2147483647\n")


def test_the_first_variable_that_is_set_counts(opdump):
    opdump.run("import torch\ntorch.ones(1).neg()", env={"RANK_ID": "", "RANK": "3", "SLURM_PROCID": "x"})
    assert [path.name for path in (opdump.directory / "dump1").iterdir()] == ["rank_3"]
