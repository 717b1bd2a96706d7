"""Activations that are kept in float16, to save memory, outgrow it: at the step that is given."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=120)
parser.add_argument("--overflow-at", type=int, default=90)
args = parser.parse_args()


class Stored(nn.Module):
    """Keeps what it is given in half precision."""

    def __init__(self, limit):
        super().__init__()
        self.scale, self.limit = 1.0, limit

    def forward(self, x):
        peak = x.detach().abs().max().item()
        stored = (x * (60000 * self.scale / peak)).half()
        return stored.float() * (peak / 60000)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(16, 32)
        self.store = Stored(65504)
        self.decode = nn.Linear(32, 1)

    def forward(self, x):
        return self.decode(self.store(torch.tanh(self.encode(x))))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(args.steps):
    net.store.scale = 0.95 * 1.01 ** (step - args.overflow_at + 14.45)  # passes 65504 / 60000 at that step
    x = torch.randn(8, 16)
    loss = nn.functional.mse_loss(net(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", float(loss))
