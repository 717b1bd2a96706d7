"""Activations grow by a little in each step, as in a training that diverges. float16 ends at 65504."""

import sys

import torch

dtype = getattr(torch, sys.argv[1])
torch.manual_seed(0)
weight = (torch.randn(32, 32) / 32).to(dtype)
for step in range(120):
    x = (torch.rand(8, 32) * 2.0 ** (step / 6)).to(dtype).requires_grad_()
    loss = (torch.relu(x @ weight + x * 2) / 256).sum()
    loss.backward()
print(x.grad.isfinite().all().item())
