"""Named tensors."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(2, 3, names=("N", "C"), requires_grad=True)
    y = (x * 2).exp().sum("C")
    y.sum().backward()
    show("named", y.names, y, x.grad.names, x.grad)
    z = x.detach().clone()
    z.mul_(1e30).mul_(1e30)
    show("overflow", z.names, z, z.align_to("C", "N").names, (z.rename(N="B") + 1).names)
    show_error("mismatch", lambda: x + torch.ones(2, 3, names=("A", "B")))
show_state()
