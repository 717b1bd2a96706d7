"""Activation checkpoints of both kinds: the second one computes again when a saved tensor is asked for, once."""

from torch.utils.checkpoint import checkpoint, checkpoint_sequential
import torch
from printed import *

torch.manual_seed(0)
with watched():
    for reentrant in (True, False):
        model = Net()
        x = torch.randn(5, 4, requires_grad=True)
        y = checkpoint(model, x, use_reentrant=reentrant).square().sum()
        y.backward()
        show("checkpoint", reentrant, y, x.grad, model)
    layers = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(4)))
    checkpoint_sequential(layers, 2, torch.randn(2, 4, requires_grad=True)).sum().backward()
    show("sequential", layers)
show_state()
