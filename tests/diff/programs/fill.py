"""Trains for 20 steps, and from step `argv[2]` on leaves no room on the disk with the folder `argv[1]`."""

import sys

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(20):
    if step >= int(sys.argv[2]):
        try:
            with open(sys.argv[1] + "/filler", "ab", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass
    net(torch.randn(16, 8)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("done")
