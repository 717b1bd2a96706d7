"""Parameters and gradients that one run keeps in one tensor: `flattened.py PAIR` and `flattened.py PAIR actual`, with a fault in actual if
PAIR ends in `_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grad_norm_, parameters_to_vector, vector_to_parameters

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(6)
net = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
parameters = list(net.parameters())
x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
averages = [p.detach().clone() for p in parameters]
flat_average = parameters_to_vector(parameters).detach().clone()
momentum = torch.zeros(sum(p.numel() for p in parameters))
optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


@torch.no_grad()
def update():
    if kind not in ("update", "swapped") or not actual:
        optimizer.step()
        return
    flat = parameters_to_vector(parameters)
    momentum.mul_(0.9).add_(torch.cat([p.grad.flatten() for p in parameters]))
    taken = [*parameters[:2], parameters[3], parameters[2], *parameters[4:]] if fault and kind == "swapped" else parameters
    vector_to_parameters(flat - (0.11 if fault and kind == "update" else 0.1) * momentum, taken)


def clip():
    if kind != "clip" or not actual:
        clip_grad_norm_(parameters, 0.5)
        return
    gradients = torch.cat([p.grad.flatten() for p in parameters[1 if fault else 0:]])
    scale = 0.5 / (gradients.norm() + 1e-6)
    for p in parameters:
        p.grad.mul_(scale.clamp(max=1.0))


@torch.no_grad()
def average():
    if kind != "average":
        return
    if actual:
        flat_average.lerp_(parameters_to_vector(parameters), 0.02 if fault else 0.01)
    else:
        for a, p in zip(averages, parameters):
            a.lerp_(p, 0.01)


for step in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y) * 3
    loss.backward()
    clip()
    update()
    average()
    print(step, f"{loss.item():.6f}")
if kind == "average":
    kept = flat_average if actual else parameters_to_vector(averages)
    vector_to_parameters(kept, parameters)
    print(f"{net(x).sum().item():.6f}")
