"""What PyTorch does, written by hand: `by_hand.py PAIR` uses PyTorch's, `by_hand.py PAIR actual` its own, with a fault if PAIR ends in
`_fault`."""

import math
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(33)


class Normalise(torch.autograd.Function):
    """x / rms(x), and its gradient as in a kernel."""

    @staticmethod
    def forward(context, x):
        scale = (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()
        context.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(context, gradient):
        x, scale = context.saved_tensors
        made = x * scale
        shared = (gradient * made).sum(-1, keepdim=True) if fault else (gradient * made).mean(-1, keepdim=True)
        return (gradient - made * shared) * scale


class Norm(nn.Module):
    def forward(self, x):
        if kind == "function" and actual:
            return Normalise.apply(x)
        return x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()


class AdamW:
    """The decay of a fault is ten times too large."""

    def __init__(self, parameters):
        self.parameters, self.step_number = list(parameters), 0
        self.means, self.squares = ([torch.zeros_like(p) for p in self.parameters] for _ in range(2))

    @torch.no_grad()
    def step(self):
        self.step_number += 1
        for p, mean, square in zip(self.parameters, self.means, self.squares):
            p.mul_(1 - 1e-2 * (0.1 if fault else 0.01))
            mean.mul_(0.9).add_(p.grad, alpha=0.1)
            square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            root = square.sqrt() / math.sqrt(1 - 0.999**self.step_number) + 1e-8
            p.addcdiv_(mean, root, value=-1e-2 / (1 - 0.9**self.step_number))

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None


model = nn.Sequential(nn.Linear(6, 16), Norm(), nn.Tanh(), nn.Linear(16, 3))
if kind == "adamw":
    optimizer = AdamW(model.parameters()) if actual else torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scale = 4096.0 if kind == "half" and actual else 1.0
for step in range(3):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    with torch.autocast("cpu", torch.bfloat16, enabled=kind == "half" and actual):
        loss = nn.functional.cross_entropy(model(x).float(), y)
    optimizer.zero_grad()
    (loss * scale).backward()
    if scale != 1:
        for p in model.parameters():
            p.grad.div_(scale * (2 if fault else 1))
    optimizer.step()
    print(step, round(loss.item(), 4))
