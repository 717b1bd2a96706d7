"""Data parallelism in processes that the program starts itself.

python spawned.py PROCESSES [spawn|fork|rank] [before] [after] [early] [forgotten] [workers]

spawn, fork, rank: how processes begin; rank: spawned, and they set RANK and WORLD_SIZE. before, after: the process that starts them runs
operators before or after them. early: so do they before they have a group. workers: their batches come from a loader's worker."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

WORDS = sys.argv[2:]


def collate(rows):
    return torch.tensor(rows).tan()


def train(rank, ranks):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x = torch.linspace(-1, 1, 64).reshape(8, 8)[rank::ranks]
    if "workers" in WORDS:
        x = next(iter(torch.utils.data.DataLoader(x.tolist(), batch_size=8 // ranks, num_workers=1, collate_fn=collate)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = net(x).square().mean()
    loss.backward()
    for parameter in net.parameters() if ranks > 1 and "forgotten" not in WORDS else ():
        dist.all_reduce(parameter.grad)
        parameter.grad /= ranks
    optimizer.step()


def work(rank, ranks, store):
    torch.set_num_threads(1)
    if "early" in WORDS:
        torch.ones(3).cosh()
    if "rank" in WORDS:
        os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(ranks)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    train(rank, ranks)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    ranks = int(sys.argv[1])
    if "before" in WORDS:
        torch.ones(5).sinh()
    if WORDS:
        method = "fork" if "fork" in WORDS else "spawn"
        mp.start_processes(work, (ranks, os.path.abspath(f"meeting{os.getpid()}")), ranks, start_method=method)
    else:
        train(0, 1)
    if "after" in WORDS:
        nn.Sequential(nn.Tanh())(torch.ones(5))
