"""A small transformer trained with tensor, sequence and data parallelism as Megatron does it, on gloo.

Starts `dp * tp` processes, each of which holds a shard. The weights, the data and so the results are those of one process, up
to rounding. `--fault NAME` breaks one process, or all of them.
"""

import argparse
import os
import socket
import subprocess
import sys

FAULTS = ("weight", "reduce", "scale", "norm", "gradient")
parser = argparse.ArgumentParser()
parser.add_argument("--tp", type=int, default=1)
parser.add_argument("--dp", type=int, default=1)
parser.add_argument("--sequence", action="store_true", help="norms work on a part of the sequence")
parser.add_argument("--plain", action="store_true", help="torch.nn.Linear instead of the parallel classes; one process")
parser.add_argument("--steps", type=int, default=2)
parser.add_argument("--fault", choices=FAULTS)
parser.add_argument("--on", type=int, default=1, help="the rank with the fault")
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
from torch.nn import functional as F

TP_RANK, DP_RANK = RANK % args.tp, RANK // args.tp
WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 32, 4, 8, 4, 24
tp_group = dp_group = None


def is_broken(name):
    return args.fault == name and RANK == args.on


def sum_over_tp(x):
    if args.tp > 1:
        dist.all_reduce(x, group=tp_group)
    return x


def gather(x, dim):
    if args.tp == 1:
        return x
    pieces = [torch.empty_like(x) for _ in range(args.tp)]
    dist.all_gather(pieces, x.contiguous(), group=tp_group)
    return torch.cat(pieces, dim)


def own_part(x, dim):
    return x.chunk(args.tp, dim)[TP_RANK].contiguous()


class Copy(torch.autograd.Function):
    """Each rank reads all of a tensor; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return sum_over_tp(gradient.clone())


class Reduce(torch.autograd.Function):
    """The sum of what the ranks have."""

    @staticmethod
    def forward(ctx, x):
        return x.clone() if args.fault == "reduce" else sum_over_tp(x.clone())

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class GatherSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return gather(x, 1)

    @staticmethod
    def backward(ctx, gradient):
        return own_part(sum_over_tp(gradient.clone()), 1)


class ScatterSequence(torch.autograd.Function):
    """Reduces, and each rank keeps its part of the sequence."""

    @staticmethod
    def forward(ctx, x):
        return own_part(sum_over_tp(x.clone()), 1)

    @staticmethod
    def backward(ctx, gradient):
        return gather(gradient, 1)


class OwnSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return own_part(x, 1)

    @staticmethod
    def backward(ctx, gradient):
        return gather(gradient, 1)


class GatherLogits(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return gather(x, 2)

    @staticmethod
    def backward(ctx, gradient):
        return own_part(gradient, 2)


class ColumnParallel(nn.Module):
    """Holds some rows of the weight, which are columns of the product; of `parts` matrices on top of each other, of each."""

    def __init__(self, inputs, outputs, parts=1):
        super().__init__()
        whole = nn.Linear(inputs, outputs)
        self.weight = nn.Parameter(torch.cat([own_part(part, 0) for part in whole.weight.detach().chunk(parts)]))
        self.bias = nn.Parameter(torch.cat([own_part(part, 0) for part in whole.bias.detach().chunk(parts)]))

    def forward(self, x):
        return F.linear(GatherSequence.apply(x) if args.sequence else Copy.apply(x), self.weight, self.bias)


class RowParallel(nn.Module):
    """Holds some columns of the weight; each product is a part of the sum."""

    def __init__(self, inputs, outputs):
        super().__init__()
        whole = nn.Linear(inputs, outputs)
        self.weight = nn.Parameter(own_part(whole.weight.detach(), 1))
        self.bias = nn.Parameter(whole.bias.detach().clone())

    def forward(self, x):
        product = F.linear(x, self.weight)
        return (ScatterSequence if args.sequence else Reduce).apply(product) + self.bias


def column(inputs, outputs, parts=1):
    return nn.Linear(inputs, outputs) if args.plain else ColumnParallel(inputs, outputs, parts)


def row(inputs, outputs):
    return nn.Linear(inputs, outputs) if args.plain else RowParallel(inputs, outputs)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = column(WIDTH, 3 * WIDTH, 3)
        self.out = row(WIDTH, WIDTH)

    def forward(self, x):
        heads = HEADS // args.tp
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (y.reshape(y.shape[0], y.shape[1], heads, WIDTH // HEADS).transpose(1, 2) for y in (q, k, v))
        scale = (WIDTH // HEADS) ** -0.5 * (1.25 if is_broken("scale") else 1)
        y = torch.softmax(q @ k.transpose(-1, -2) * scale, -1) @ v
        return self.out(y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), column(WIDTH, 4 * WIDTH), row(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), column(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        if args.sequence:
            x = OwnSequence.apply(x)
        for block in self.blocks:
            x = block(x)
        y = self.head(self.norm(x))
        return y if args.plain else GatherLogits.apply(y)


def average_gradients(network):
    for name, parameter in network.named_parameters():
        if args.sequence and ("norm" in name or name.endswith(("out.bias", "down.bias"))):
            sum_over_tp(parameter.grad)  # each rank has seen a part of the sequence
        if args.dp > 1 and not (args.fault == "gradient" and "up.weight" in name):
            dist.all_reduce(parameter.grad, group=dp_group)
            parameter.grad /= args.dp


def main():
    global tp_group, dp_group
    torch.set_num_threads(1)
    if WORLD > 1:
        dist.init_process_group("gloo")
        for first in range(0, WORLD, args.tp):
            group = dist.new_group(list(range(first, first + args.tp)))
            tp_group = group if first // args.tp == DP_RANK else tp_group
        for first in range(args.tp):
            group = dist.new_group(list(range(first, WORLD, args.tp)))
            dp_group = group if first == TP_RANK else dp_group
    torch.manual_seed(0)
    network = Network()
    if is_broken("weight"):
        with torch.no_grad():
            network.blocks[1].down.weight.mul_(1.01)
    if is_broken("norm"):
        network.blocks[1].norm1.eps = 1e-2
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    for step in range(args.steps):
        torch.manual_seed(step + 1)
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1)).chunk(args.dp)[DP_RANK]
        logits = network(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        average_gradients(network)
        optimizer.step()
        if RANK == 0:
            print(f"step {step} loss {loss.item():.6f}")
    if WORLD > 1:
        dist.destroy_process_group()


main()
