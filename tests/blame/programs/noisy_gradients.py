"""Gradients that are zero but for rounding, which each run computes and steps along in its own way: `noisy_gradients.py PAIR` and
`noisy_gradients.py PAIR actual`, with a fault in actual if PAIR ends in `_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(5)


class HandNorm(nn.BatchNorm1d):
    def forward(self, x):
        centred = x - x.mean(0)
        var = centred.square().sum(0) / (len(x) - 1 if fault else len(x))
        return centred / (var + self.eps).sqrt() * self.weight + self.bias


class HandAdam(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.999)):
        super().__init__(params, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            low, high = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                state["t"] = t = state.get("t", 0) + 1
                m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
                m.mul_(low).add_(p.grad, alpha=1 - low)
                v.mul_(high).addcmul_(p.grad, p.grad, value=1 - high)
                p.sub_(group["lr"] * (m / (1 - low ** t)) / ((v / (1 - high ** t)).sqrt() + 1e-8))


class ListMomentum(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum):
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self.moving = [torch.zeros_like(p) for p in self.param_groups[0]["params"]]

    @torch.no_grad()
    def step(self):
        group = self.param_groups[0]
        torch._foreach_mul_(self.moving, group["momentum"])
        torch._foreach_add_(self.moving, [p.grad for p in group["params"]])
        torch._foreach_add_(group["params"], self.moving, alpha=-group["lr"])


if kind == "norm":  # the bias before a batch norm, which one run writes out
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.norm, self.out = nn.Linear(6, 16), (HandNorm if actual else nn.BatchNorm1d)(16), nn.Linear(16, 1)

        def forward(self, x):
            return self.out(torch.tanh(self.norm(self.fc(x)))).squeeze(1)

    net = Net()
    x, y = torch.randn(24, 6), torch.randn(24)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(3):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        print(loss.item())
elif kind == "keys":  # the bias of keys; one run takes rows in threes, and steps by hand
    class Attention(nn.Module):
        def __init__(self, d=12):
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(d, d) for _ in range(4))

        def forward(self, x):
            w = (self.query(x) @ self.key(x).transpose(1, 2) / 12 ** 0.5).softmax(-1)
            return self.out(w @ self.value(x))

    net = Attention()
    x, y = torch.randn(9, 5, 12), torch.randn(9, 5, 12)
    opt = HandAdam(net.parameters(), 1e-3) if actual else torch.optim.Adam(net.parameters(), lr=1e-3, foreach=False)
    for _ in range(2):
        opt.zero_grad()
        total = 0
        for i in range(0, 9, 3 if actual else 9):
            rows = slice(i, i + (3 if actual else 9))
            loss = (net(x[rows]) - y[rows]).pow(2).sum() / (8 if fault and i == 6 else 9)
            loss.backward()
            total += loss.item()
        opt.step()
        print(total)
elif kind == "tiny":  # gradients that an absolute tolerance hides; those of the fault go the other way in part
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    if fault:
        net[0].weight.register_hook(lambda g: g * torch.tensor([1.0, -1.0]).repeat(4)[:, None])
    x, y = torch.randn(16, 6), torch.randn(16, 2)
    opt = (HandAdam(net.parameters(), 1e-3) if actual else torch.optim.Adam(net.parameters(), lr=1e-3, foreach=False))
    for _ in range(3):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        (loss * 3e-8).backward()
        opt.step()
        print(loss.item())
elif kind == "momentum":  # a convolution before a batch norm; one run steps by lists, and with another momentum in the fault
    net = nn.Sequential(nn.Conv1d(3, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 10, 4))
    x, y = torch.randn(8, 3, 12), torch.randint(0, 4, (8,))
    opt = (ListMomentum(net.parameters(), 0.1, 0.8 if fault else 0.9) if actual else
           torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False))
    for _ in range(3):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        print(loss.item())
