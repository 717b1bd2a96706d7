"""Named tensors."""

import torch
from told import *

torch.manual_seed(0)
with watched():
    x = torch.randn(2, 3, names=("N", "C"), requires_grad=True)
    y = (x * 2).exp().sum("C")
    y.sum().backward()
    tell("named", y.names, y, x.grad.names, x.grad)
    z = x.detach().clone()
    z.mul_(1e30).mul_(1e30)
    tell("overflow", z.names, z, z.align_to("C", "N").names, (z.rename(N="B") + 1).names)
    tell_error("mismatch", lambda: x + torch.ones(2, 3, names=("A", "B")))
tell_state()
