"""Trains for `--steps` steps with a pause in each. `--fault` changes the step `--at`; `--exit` is the exit status."""

import argparse
import sys
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--at", type=int, default=5)
parser.add_argument("--pause", type=float, default=0.0)
parser.add_argument("--fault", choices=["factor", "missing"])
parser.add_argument("--exit", type=int, default=0)
args = parser.parse_args()

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 300), torch.nn.ReLU(), torch.nn.Linear(300, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(args.steps):
    fault = args.fault if step == args.at else None
    x = torch.randn(64, 8)
    x = x * (1.5 if fault == "factor" else 1.0)
    y = net(x)
    if fault != "missing":
        y = torch.tanh(y)
    loss = y.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), flush=True)
    time.sleep(args.pause)
sys.exit(args.exit)
