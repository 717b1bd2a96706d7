"""What one run keeps beside its training, and numbers that Python gets: `kept.py PAIR` is golden, `kept.py PAIR actual` does it in another
way, with a fault if PAIR ends in `_fault`."""

import copy
import math
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(5)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv1d(2, 6, 3), nn.BatchNorm1d(6), nn.Linear(6, 3)
        self.register_buffer("seen", torch.zeros(6))

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        if kind == "buffer" and not fault:
            with torch.no_grad():
                self.seen.lerp_(x.mean((0, 2)), 0.1)
        return self.head(x.mean(-1))


def average(shadow, model):
    with torch.no_grad():
        for ours, theirs in zip(shadow.state_dict().values(), model.state_dict().values()):
            if ours.is_floating_point():
                ours.mul_(0.9).add_(theirs, alpha=0.1)
            else:
                ours.copy_(theirs)


def clip(model):
    if kind != "clip" or not actual:
        return float(nn.utils.clip_grad_norm_(model.parameters(), 0.3))
    total = math.sqrt(sum(float(p.grad.pow(2).sum()) for p in model.parameters()))
    if total > 0.3:
        for p in model.parameters():
            p.grad.mul_((0.4 if fault else 0.3) / (total + 1e-6))
    return total


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
has_shadow = kind == "both" or kind == ("average" if actual else "lost")
shadow = copy.deepcopy(model) if has_shadow else None
for step in range(3):
    x, y = torch.randn(8, 2, 9), torch.randint(0, 3, (8,))
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    norm = clip(model)
    optimizer.step()
    if shadow is not None and not fault:
        average(shadow, model)
    right = out.argmax(1) == y
    if kind == "count" and actual:
        rate = right.sum().item() / (7 if fault else len(y))
    else:
        rate = right.float().mean().item()
    print(step, round(loss.item(), 4), round(norm, 4), round(rate, 4))
if kind == "average" and fault:
    model.load_state_dict({key: value * 0.5 for key, value in model.state_dict().items()})
    print(model.eval()(torch.ones(1, 2, 9)).sum().item())
elif kind == "average":
    print(model.eval()(torch.ones(1, 2, 9)).sum().item())
