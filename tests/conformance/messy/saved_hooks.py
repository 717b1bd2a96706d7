"""Hooks on saved tensors, which count their calls."""

import torch
from told import *

torch.manual_seed(0)
counts = {"pack": 0, "unpack": 0}


def pack(tensor):
    counts["pack"] += 1
    return tensor.clone()


def unpack(tensor):
    counts["unpack"] += 1
    return tensor


with watched():
    model = Net()
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = model(torch.randn(5, 4)).exp().sum()
    y.backward()
    tell("counts", counts, model)
    with torch.autograd.graph.save_on_cpu():
        z = model(torch.randn(5, 4)).exp().sum()
    z.backward()
    tell("on the CPU", model)
    x = torch.randn(3, requires_grad=True)
    w = x.exp()
    w.grad_fn._raw_saved_result.register_hooks(pack, unpack)
    w.sum().backward()
    tell("one tensor", counts, x.grad)
tell_state()
