# needs torch 2.1
"""A network with a batch norm: batch_norm.py [eager|compiled train|eval [eps|momentum]]. The last one is other than usual."""
import sys

import torch
from torch import nn

how, mode, *other = sys.argv[1:] or ("compiled", "train")
torch.manual_seed(0)
norm = {name: {"eps": 1e-2, "momentum": 0.9}[name] for name in other}
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, **norm), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 10))
if mode == "eval":
    net[1].running_var.uniform_(0.5, 2)
    net.eval()
model = torch.compile(net) if how == "compiled" else net
loss = model(torch.randn(4, 3, 8, 8)).square().mean()
loss.backward()
