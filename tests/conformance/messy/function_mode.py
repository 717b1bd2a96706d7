"""A TorchFunctionMode of the program's own, and a subclass with __torch_function__."""

import torch
from printed import *

torch.manual_seed(0)
from torch.overrides import TorchFunctionMode


class Counting(TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Logged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


model = Net()
with watched():
    with Counting() as counting:
        model(torch.randn(5, 4)).sum().backward()
        torch.autograd.backward(model(torch.randn(5, 4)).sum())
    show("mode", counting.names, model)
    x = torch.randn(5, 4).as_subclass(Logged).requires_grad_()
    y = model(x).exp().sum()
    y.backward()
    show("subclass", type(y).__name__, Logged.calls, x.grad.as_subclass(torch.Tensor))
show_state()
