"""Models in the wrappers of torch 2 itself: `wrappers_too.py PAIR` is golden, `wrappers_too.py PAIR actual` the other run, in one process."""

import os
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-2 if actual and name.endswith("_fault") else 1e-5)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


net = nn.Sequential(nn.Linear(6, 8), Block(8), Block(8), nn.Linear(8, 3))
data = [torch.randn(5, 6) for _ in range(2)]
if actual and not name.startswith("eager"):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000))
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
if actual and name.startswith("ddp"):
    net = nn.parallel.DistributedDataParallel(net)
elif actual and name.startswith("fsdp"):
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(net, device_id=torch.device("cpu"))
elif actual and name.startswith("fully_shard"):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (1,))
    for module in net:
        fully_shard(module, mesh=mesh)
    fully_shard(net, mesh=mesh)
elif actual and name.startswith("eager"):
    net = torch.compile(net, backend="eager")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in data:
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
