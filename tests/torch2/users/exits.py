"""Catches its own failure, cleans up and ends with its own exit code."""

import atexit
import sys

import torch

atexit.register(lambda: print("cleaned up"))
torch.manual_seed(10)
weight = torch.randn(3, 3, requires_grad=True)
try:
    (weight @ torch.ones(4)).sum().backward()
except RuntimeError as error:
    print(type(error).__name__, str(error).splitlines()[0])
    loss = (weight @ torch.ones(3)).logsumexp(0)
    loss.backward()
    print(loss.item().hex(), weight.grad.sum().item().hex())
    sys.exit(17)
