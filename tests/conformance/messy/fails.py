"""Operators that raise, an exception that nobody catches: traceback and status."""

import torch
from told import *

torch.manual_seed(0)
with watched():
    tell_error("shapes", lambda: torch.ones(2, 3) @ torch.ones(2, 3))
    tell_error("view", lambda: torch.ones(2, 3).view(7))
    tell_error("index", lambda: torch.ones(2)[5])
    tell_error("linalg", lambda: torch.linalg.inv(torch.zeros(2, 2)))
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    tell_error("in place", lambda: x.add_(1))
    y.sum().backward()
    tell_error("twice", lambda: (x.exp().sum().backward(), y.sum().backward()))
    z = x.exp()
    w = z * 1
    z.add_(1)
    tell_error("version", lambda: z.sum().backward())
    tell("grad", x.grad)
    tell_state()
    raise KeyError("nobody catches this")
