"""A small transformer made parallel by torch itself: tensor parallelism by parallelize_module, data parallelism by fully_shard.

Starts `dp * tp` processes on gloo. `--fault weight` breaks the weight of one of them; with `--fault placement` the terms of a
sum are said to be the sum.
"""

import argparse
import os
import socket
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--tp", type=int, default=1)
parser.add_argument("--dp", type=int, default=1)
parser.add_argument("--sequence", action="store_true", help="norms work on a part of the sequence")
parser.add_argument("--steps", type=int, default=2)
parser.add_argument("--transposed", action="store_true", help="data parallelism is the inner dimension of the mesh")
parser.add_argument("--fault", choices=("weight", "placement"))
args = parser.parse_args()
WORLD, RANK = args.tp * args.dp, int(os.environ.get("RANK", 0))


def start_ranks():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(WORLD)}
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**env, "RANK": str(rank)}) for rank in range(WORLD)]
    return max(abs(rank.wait()) for rank in ranks)


if WORLD > 1 and "RANK" not in os.environ:
    sys.exit(start_ranks())  # before torch is imported: this process records nothing

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.distributed.tensor.parallel import PrepareModuleInput
from torch.nn import functional as F

WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 32, 4, 8, 4, 24


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (y.reshape(y.shape[0], y.shape[1], -1, WIDTH // HEADS).transpose(1, 2) for y in (self.q(x), self.k(x), self.v(x)))
        y = torch.softmax(q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5, -1) @ v
        return self.out(y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.down(F.gelu(self.up(self.norm2(x))))
        if args.fault != "placement":
            return x + y * 0.5
        y = DTensor.from_local(y.to_local(), y.device_mesh, [Replicate()])
        return x + (y * 0.5).to_local()


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_parallel(network, mesh):
    if args.tp > 1:
        own = Shard(1) if args.sequence else Replicate()  # what a rank has between two blocks
        row = RowwiseParallel(output_layouts=own, use_local_output=not args.sequence)
        plan = {"attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(), "attention.v": ColwiseParallel(),
                "attention.out": row, "up": ColwiseParallel(input_layouts=own), "down": row}
        if args.fault == "placement":
            plan["down"] = RowwiseParallel(output_layouts=Partial(), use_local_output=False)
        if args.sequence:
            plan |= {"norm1": SequenceParallel(), "norm2": SequenceParallel(),
                     "attention": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())}
        for block in network.blocks:
            parallelize_module(block, mesh["tp"], plan)
        plan = {"head": ColwiseParallel(input_layouts=own, output_layouts=Replicate())}
        if args.sequence:
            plan |= {"norm": SequenceParallel(),
                     "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False)}
        parallelize_module(network, mesh["tp"], plan)
    if args.dp > 1:
        for block in network.blocks:
            fully_shard(block, mesh=mesh["dp"])
        fully_shard(network, mesh=mesh["dp"])


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = Network()
    part = 0  # of the batch
    if WORLD > 1:
        dist.init_process_group("gloo")
        ranks = torch.arange(WORLD)
        ranks = ranks.reshape(args.tp, args.dp).T if args.transposed else ranks.reshape(args.dp, args.tp)
        mesh = DeviceMesh("cpu", ranks, mesh_dim_names=("dp", "tp"))
        part = mesh.get_coordinate()[0]
        make_parallel(network, mesh)
    if args.fault == "weight" and RANK == WORLD - 1:
        with torch.no_grad():
            network.blocks[1].down.weight.to_local().mul_(1.01)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, foreach=False)
    for step in range(args.steps):
        torch.manual_seed(step + 1)
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1)).chunk(args.dp)[part]
        logits = network(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if RANK == 0:
            print(f"step {step} loss {loss.item():.6f}")
    if WORLD > 1:
        dist.destroy_process_group()


main()
