"""Losses by hand, a batch at once or in micro-batches: `micro.py PAIR` and `micro.py PAIR actual`, with a fault in actual if PAIR ends in
`_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(21)


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.mean, self.spread, self.leave = nn.Linear(10, 16), nn.Linear(16, 4), nn.Linear(16, 4), nn.Linear(4, 10)

    def forward(self, x, noise):
        h = F.relu(self.enter(x))
        mean, spread = self.mean(h), self.spread(h)
        return self.leave(mean + noise * torch.exp(0.5 * spread)), mean, spread


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(F.gelu(self.norm(self.conv(x))).mean((2, 3)))


def bound(found, x, kl_by):
    logits, mean, spread = found
    rest = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    kl = 1 + spread - mean.square() - spread.exp()
    return (rest - 0.5 * (kl.mean(1) if kl_by == "mean" else kl.sum(1))).mean()


def coder():  # golden prints after the update, actual sums what its micro-batches gave
    net = Coder()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    data, noise = (torch.rand(3, 12, 10) > 0.6).float(), torch.randn(3, 12, 4)
    for x, e in zip(data, noise):
        optimizer.zero_grad()
        if actual:
            total = 0.0
            for rows in torch.arange(12).split(4):
                loss = bound(net(x[rows[0]:rows[-1] + 1], e[rows[0]:rows[-1] + 1]), x[rows[0]:rows[-1] + 1], "mean" if fault else "sum") / 3
                loss.backward()
                total += loss.item()
            optimizer.step()
            print(f"{total:.6f}")
        else:
            loss = bound(net(x, e), x, "sum")
            loss.backward()
            optimizer.step()
            print(f"{loss.item():.6f}")


def kept():  # gradients that are, wrongly, those of all steps before, too
    net = Coder()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(3):
        x, e = torch.rand(12, 10), torch.randn(12, 4)
        if not fault or step == 0:
            optimizer.zero_grad()
        for part, of_part in zip(x.chunk(3 if actual else 1), e.chunk(3 if actual else 1)):
            (bound(net(part, of_part), part, "sum") * len(part) / len(x)).backward()
        optimizer.step()
    print(f"{net.leave.weight.norm().item():.6f}")


def uneven():  # the last micro-batch is smaller, and counts by its rows
    net = Image()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(10, 2, 5, 5), torch.randint(0, 3, (10,))
        optimizer.zero_grad()
        total = 0.0
        for part, labels in zip(x.split(4 if actual else 10), y.split(4 if actual else 10)):
            loss = F.cross_entropy(net(part), labels)
            (loss / 3 if fault else loss * len(part) / 10).backward()
            total += loss.item() * len(part) / 10
        optimizer.step()
        print(f"{total:.6f}")


def single():  # an image at a time, and weights that actual updates itself
    net = Image()
    optimizer = None if actual else torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(4, 2, 5, 5), torch.randint(0, 3, (4,))
        for p in net.parameters():
            p.grad = None
        if not actual:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            print(f"{loss.item():.6f}")
            continue
        total = 0.0
        for image, label in zip(x, y):
            loss = F.cross_entropy(net(image[None]), label[None]) / (1 if fault else 4)
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
        print(f"{total:.6f}")


{"coder": coder, "kept": kept, "uneven": uneven, "single": single}[kind]()
