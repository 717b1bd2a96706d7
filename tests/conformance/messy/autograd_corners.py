"""Functions of the program's own, double backward, grad of a list, no_grad, inference mode, detect_anomaly, hooks of the engine."""

import torch
from printed import *

torch.manual_seed(0)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


with watched():
    x = torch.randn(4, requires_grad=True)
    first = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)[0]
    first.exp().sum().backward()
    show("double", first, x.grad)
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    show("list", *torch.autograd.grad([(a * b).sum(), a.sin().sum()], [a, b], allow_unused=True))
    show("unused", torch.autograd.grad(a.sum(), [a, b], allow_unused=True)[1])
    with torch.inference_mode():
        show("inference", Net().eval()(torch.ones(2, 4)), (a * 2).is_inference())
    with torch.autograd.detect_anomaly():
        show_error("anomaly", lambda: torch.sqrt(-a.abs()).sum().backward())
    show("jacobian", torch.autograd.functional.jacobian(torch.sin, b), torch.autograd.functional.vhp(lambda t: t.exp().sum(), b, torch.ones(3))[1])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.arange(3.0))
        show("dual", torch.autograd.forward_ad.unpack_dual(dual.exp()).tangent)
    x.grad = None
    for _ in range(2):
        (x.sin() * x).sum().backward()
    show("accumulated", x.grad)
show_state()
