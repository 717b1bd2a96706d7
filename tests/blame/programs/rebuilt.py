"""A run that stops, builds its model anew and goes on from a checkpoint, all in one process: `rebuilt.py PAIR` trains without a break,
`rebuilt.py PAIR actual` has one, with a fault if PAIR ends in `_fault`."""

import copy
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
torch.manual_seed(3)
batches = [(torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))) for _ in range(5)]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.Linear(96, 3)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


def build():
    if name.startswith("list"):
        model = nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.GELU(), nn.Linear(16, 3))
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model = Encoder()
    return model, torch.optim.Adam(model.parameters(), lr=1e-2)


def restart(model, optimizer):
    saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    model, optimizer = build()
    model.load_state_dict(saved[0])
    if not fault:
        optimizer.load_state_dict(saved[1])
    return model, optimizer


model, optimizer = build()
kept = []
for number, (x, y) in enumerate(batches):
    if actual and number == 3:
        if name.startswith("kept"):  # the first model is still there
            kept.append(model)
        model, optimizer = restart(model, optimizer)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(number, loss.item())
