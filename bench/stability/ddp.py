"""Two ranks on gloo: DistributedDataParallel, then collectives of every kind, blocking and not."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import digest, digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def collectives(rank):
    value = torch.arange(1000.0) * (rank + 1)
    dist.all_reduce(value)
    total = value * 0.5
    work = dist.all_reduce(total, async_op=True)
    other = torch.ones(1000) * rank  # meanwhile
    work.wait()
    gathered = [torch.empty(1000) for _ in range(2)]
    dist.all_gather(gathered, total + other)
    dist.broadcast(gathered[0], 1)
    if rank == 0:
        dist.send(gathered[0], 1)
    else:
        dist.recv(gathered[1], 0)
    return (gathered[0] + gathered[1]).sum()


def train(rank, port):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = digits(64)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[rank::2]), y[rank::2])
        loss.backward()
        optimizer.step()
    total = collectives(rank)
    if rank == 0:
        print(loss.item(), total.item(), digest(net))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()[1]
    mp.spawn(train, (address,), nprocs=2)
