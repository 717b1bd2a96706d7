"""Trains, saves a checkpoint, and goes on from it. `--lost` forgets what Adam knew."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--lost", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
if not args.save:
    saved = torch.load("checkpoint.pt")
    net.load_state_dict(saved["net"])
    if not args.lost:
        optimizer.load_state_dict(saved["optimizer"])
torch.manual_seed(1)
for step in range(40):
    optimizer.zero_grad()
    net(torch.randn(32, 8)).square().mean().backward()
    optimizer.step()
if args.save:
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")
