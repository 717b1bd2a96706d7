"""Hooks of modules, tensors and nodes, which count and change gradients."""

import torch
from printed import *

torch.manual_seed(0)
order = []
with watched():
    model = Net()
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda m, args, n=name: order.append(("pre", n)))
        module.register_forward_hook(lambda m, args, out, n=name: order.append(("forward", n)))
        module.register_full_backward_hook(lambda m, gi, go, n=name: order.append(("backward", n)))
    x = torch.randn(5, 4, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    y = model(x)
    y.register_hook(lambda g: order.append(("tensor", tuple(g.shape))))
    y.grad_fn.register_hook(lambda gi, go: order.append(("node", len(gi), len(go))))
    y.retain_grad()
    y.sum().backward()
    show("order", order, x.grad, y.grad, model)
    show("names", [type(f).__name__ for f, _ in y.grad_fn.next_functions if f is not None], len(y.grad_fn.metadata))
show_state()
