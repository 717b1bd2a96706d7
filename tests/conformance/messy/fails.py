"""Operators that raise, an exception that nobody catches: traceback and status."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    show_error("shapes", lambda: torch.ones(2, 3) @ torch.ones(2, 3))
    show_error("view", lambda: torch.ones(2, 3).view(7))
    show_error("index", lambda: torch.ones(2)[5])
    show_error("linalg", lambda: torch.linalg.inv(torch.zeros(2, 2)))
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    show_error("in place", lambda: x.add_(1))
    y.sum().backward()
    show_error("twice", lambda: (x.exp().sum().backward(), y.sum().backward()))
    z = x.exp()
    w = z * 1
    z.add_(1)
    show_error("version", lambda: z.sum().backward())
    show("grad", x.grad)
    show_state()
    raise KeyError("nobody catches this")
