"""Mixed precision with a GradScaler on the CPU (torch 2.3 and later). Its first scale is too large, as it is meant to be; with
--broken no scale is small enough."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--broken", action="store_true")
args = parser.parse_args()


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.log()  # of negative numbers, too


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)
for step in range(30):
    x = torch.randn(16, 8)
    with torch.autocast("cpu", dtype=torch.float16):
        y = net(x)
        y = Bad.apply(y) if args.broken else y
        loss = (y.float() - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print("done", scaler.get_scale())
