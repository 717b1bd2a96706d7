"""Trains a small network. `--fault` makes it another program from a step on."""

import argparse
import sys

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.second = nn.Linear(32, 32)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(32, 4)

    def forward(self, x, approximate=False):
        x = self.second(F.gelu(self.norm(self.first(x))))
        if approximate:  # in place of tanh
            x = x * (27 + x * x) / (27 + 9 * x * x)
        else:
            x = torch.tanh(x)
        return self.last(self.drop(x))


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--at", type=int, default=137)
parser.add_argument("--fault", choices=["none", "weight", "rate", "kernel", "batch", "crash"], default="none")
parser.add_argument("--no-seed", action="store_true")
args = parser.parse_args()

if not args.no_seed:
    torch.manual_seed(0)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
data, labels = torch.randn(512, 16), torch.randint(4, (512,))

for step in range(args.steps):
    fault = args.fault if step == args.at else "none"
    chosen = torch.randint(512, (32,))
    batch, wanted = data[chosen], labels[chosen]
    if fault == "crash":
        sys.exit("the disk with the data is gone")
    if fault == "weight":
        net.second.weight.data.numpy()[5, 7] += 0.25
    if fault == "rate":
        optimizer.param_groups[0]["lr"] = 2e-3
    if fault == "batch":
        batch.numpy()[3] = 1e4
    optimizer.zero_grad()
    loss = F.cross_entropy(net(batch, approximate=fault == "kernel"), wanted)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
