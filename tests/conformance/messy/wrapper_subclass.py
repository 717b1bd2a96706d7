"""Tensors without memory of their own, whose operators are Python functions."""

import torch
from printed import *

torch.manual_seed(0)


class Wrapper(torch.Tensor):
    calls = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return f"Wrapper({self.inner})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func))
        unwrap = lambda value: value.inner if isinstance(value, Wrapper) else value
        out = func(*torch.utils._pytree.tree_map(unwrap, args), **torch.utils._pytree.tree_map(unwrap, kwargs or {}))
        return torch.utils._pytree.tree_map(lambda value: Wrapper(value) if isinstance(value, torch.Tensor) else value, out)


with watched():
    a, b = Wrapper(torch.randn(3, 3)), Wrapper(torch.randn(3, 3))
    c = (a @ b + 1).relu()
    c.add_(1)
    show("forward", c.inner, Wrapper.calls)
    show("overflow", (a * 1e38 * 1e38).inner)
    x = Wrapper(torch.randn(3, 3)).requires_grad_()
    (x * b).sum().backward()
    show("backward", x.grad.inner, Wrapper.calls)
    show("mixed", (torch.ones(3, 3) + a).inner)
show_state()
