"""Data-parallel training of processes on gloo. From step `--at` on, rank 1 alone does something else.

Start it by `python -m torch.distributed.run --standalone --nproc_per_node 2`.
"""

import argparse

import torch
from torch import distributed
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--at", type=int, default=23)
parser.add_argument("--fault", choices=["kernel", "batch", "overflow"])
args = parser.parse_args()

distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.Linear(32, 32))
last = torch.nn.Linear(32, 4)
parameters = [*net.parameters(), *last.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.05)
torch.manual_seed(rank)
for step in range(args.steps):
    fault = args.fault if rank == 1 and step >= args.at else None
    batch, wanted = torch.randn(32, 16), torch.randint(4, (32,))
    if fault == "batch":
        batch[3] = 1e3
    hidden = net(batch)
    hidden = hidden * (27 + hidden * hidden) / (27 + 9 * hidden * hidden) if fault == "kernel" else torch.tanh(hidden)
    if fault == "overflow":
        hidden = (hidden * 1000).exp()
    loss = F.cross_entropy(last(hidden), wanted)
    optimizer.zero_grad()
    loss.backward()
    for parameter in parameters:
        distributed.all_reduce(parameter.grad)
        parameter.grad /= distributed.get_world_size()
    optimizer.step()
distributed.destroy_process_group()
