"""All rows in another order: `orders.py PAIR` and `orders.py PAIR actual`, with a fault if PAIR ends in `_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
torch.manual_seed(5)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
order = torch.randperm(8)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(2):
    if name.startswith("labels"):  # the data comes in another order, with a fault without its labels
        scores, labels = (net(x[order]), y if fault else y[order]) if actual else (net(x), y)
        shown = scores
    else:  # sorted within, and back; with a fault not what is shown of each row
        scores, labels = net(x[order]) if actual else net(x), y
        shown = scores
        scores = scores[order.argsort()] if actual else scores
        shown = shown if fault else scores
    optimizer.zero_grad()
    F.cross_entropy(scores, labels).backward()
    optimizer.step()
    print(shown.detach().softmax(-1).numpy()[0])
