"""What may fool the rules for rounding that is followed and for results that nobody reads: `followed.py PAIR` and `followed.py PAIR actual`,
with a fault in actual if PAIR ends in `_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(4)
if kind == "drawn":  # numbers drawn in place that only Python sees
    noise = torch.empty(6)
    noise.normal_(generator=torch.Generator().manual_seed(8 if fault else 7))
    net = nn.Linear(6, 2)
    print(net(torch.ones(3, 6)).sum().item(), sum(noise.tolist()))
elif kind == "eps":  # an epsilon that matters where gradients are small, in an Adam of the program's own
    class Own(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})
            self.t, self.moments = 0, [(torch.zeros_like(p), torch.zeros_like(p)) for p in params]

        @torch.no_grad()
        def step(self):
            self.t += 1
            for p, (m, v) in zip(self.param_groups[0]["params"], self.moments):
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.999).add_(p.grad * p.grad, alpha=0.001)
                p.sub_(1e-2 * (m / (1 - 0.9**self.t)) / ((v / (1 - 0.999**self.t)).sqrt() + (1e-3 if fault else 1e-8)))

    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
    x, y = torch.randn(16, 6), torch.randn(16, 2)
    opt = Own(list(net.parameters())) if actual else torch.optim.Adam(net.parameters(), lr=1e-2, foreach=False)
    for _ in range(3):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        print(loss.item())
elif kind == "half":  # a product in bfloat16, and sums of each run's own, one of which loses a term
    w = torch.randn(32, 16, requires_grad=True)
    x, y = torch.randn(64, 32), torch.randn(64, 16)
    d = (x.bfloat16() @ w.bfloat16()).float() - y
    if actual:
        loss = torch.stack([r.sum() for r in (d * d)[: 63 if fault else 64].split(8)]).sum() / (64 * 16)
    else:
        loss = (d * d).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
    print(loss.item(), (x @ w).abs().sum().item())
