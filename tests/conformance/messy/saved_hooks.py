"""Hooks on saved tensors, which count their calls."""

import torch
from printed import *

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
    show("counts", counts, model)
    with torch.autograd.graph.save_on_cpu():
        z = model(torch.randn(5, 4)).exp().sum()
    z.backward()
    show("on the CPU", model)
    x = torch.randn(3, requires_grad=True)
    w = x.exp()
    w.grad_fn._raw_saved_result.register_hooks(pack, unpack)
    w.sum().backward()
    show("one tensor", counts, x.grad)
show_state()
