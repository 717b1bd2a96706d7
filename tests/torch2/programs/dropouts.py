# needs torch 2.3
"""Blocks with dropout, trained for two steps: dropouts.py [eager|compiled|fallback|parts
none|missing|other|moved|weight|gradient]. The second block has the fault. Data and dropout have the same random generator."""
import sys

import torch

how, fault = sys.argv[1:] or ("compiled", "none")
torch.manual_seed(0)
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.qkv, self.inner, self.outer = torch.nn.Linear(16, 48), torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.drop = torch.nn.Identity() if fault == "missing" else torch.nn.Dropout(0.4 if fault == "other" else 0.1)
        self.first = fault == "moved"

    def forward(self, x):
        q, k, v = self.qkv(x).view(2, 4, 3, 2, 8).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * 0.35
        scores = (self.drop(scores) if self.first else scores).softmax(-1)
        x = x + (scores @ v).transpose(1, 2).reshape(2, 4, 16)
        y = self.outer(torch.nn.functional.gelu(self.inner(x)))
        return x + (y if self.first else self.drop(y))


class Network(torch.nn.Sequential):
    def forward(self, x):
        return super().forward(x * 2)


network = Network(*(Block(fault if i == 1 else "none") for i in range(3)))
if fault == "weight":
    with torch.no_grad():
        network[1].inner.weight[3].mul_(1.5)
if how == "parts":
    for block in network:
        block.compile()
options = {"fallback_random": True} if how == "fallback" else None
run = torch.compile(network, options=options) if how in ("compiled", "fallback") else network
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
for _ in range(2):
    run(torch.randn(2, 4, 16)).square().mean().backward()
    if fault == "gradient":  # without an operator, as a wrong backward pass of generated code is
        network[1].inner.weight.grad.numpy()[0] *= 2
    optimizer.step()
    optimizer.zero_grad()
