"""A TorchDispatchMode of the program's own that counts and replaces, around forward and backward."""

import torch
from printed import *

torch.manual_seed(0)
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Doubling(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out * 2 if "mul" in str(func) else out


model = Net()
with watched():
    with Counting() as counting:
        model(torch.randn(5, 4)).sum().backward()
    show("count", len(counting.names), counting.names, model)
    with Doubling():
        show("doubled", torch.full((3,), 1e30) * 3)
    with Counting() as outer, Counting() as inner:
        show("overflow", torch.full((3,), 1e30) * 1e30)
    show("nested", outer.names, inner.names)
    with FakeTensorMode():
        fake = torch.ones(3, 4) @ torch.ones(4, 5) * 1e38
        fake.add_(fake)
    show("fake", tuple(fake.shape), type(fake).__name__)
with Counting() as around:
    with watched():
        train(Net(), steps=1)
show("around", around.names)
show_state()
