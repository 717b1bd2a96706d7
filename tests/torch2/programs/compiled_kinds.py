# needs torch 2.5
"""Programs with torch.compile whose generated code is sound, one for each argument."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
kind = sys.argv[1] if len(sys.argv) > 1 else "argmax"


def train(model, x, target, steps=2, lr=0.1, compiled_step=False):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    run = torch.compile(model)

    def update():
        optimizer.step()

    step = torch.compile(update) if compiled_step else update
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(run(x), target)
        loss.backward()
        step()
    return loss


class Attention(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.qkv, self.out, self.norm, self.drop = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16), nn.Dropout(p)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        return x + self.drop(self.out(y))


if kind == "dropout":
    print(train(Attention(0.5), torch.randn(2, 5, 16), torch.randn(2, 5, 16)).item())
elif kind == "fallback":
    torch._inductor.config.fallback_random = True
    print(train(Attention(0.5), torch.randn(2, 5, 16), torch.randn(2, 5, 16)).item())
elif kind == "batch_norm":
    print(train(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2)),
                torch.randn(4, 3, 6, 6), torch.randn(4, 2)).item())
elif kind == "step":
    print(train(nn.Linear(8, 4), torch.randn(3, 8), torch.randn(3, 4), compiled_step=True).item())
elif kind == "half":
    model = Attention(0.0).bfloat16().eval()
    with torch.inference_mode():
        print(torch.compile(model)(torch.randn(2, 5, 16).bfloat16()).float().sum().item())
elif kind == "cancelled":
    centred = torch.compile(lambda x: (x - x.mean()).sum() + (x.softmax(-1).sum(-1) - 1).sum())
    print(centred(torch.randn(400, 50) * 100).item() < 100)
elif kind == "views":
    @torch.compile
    def shift(x, y):
        y.mul_(2)
        x[1:].add_(y[0])
        return x.view(-1)[::3], y.t()

    x = torch.arange(24.0).reshape(4, 6)
    a, b = shift(x, x[0].expand(3, 6).clone())
    print(a.sum().item(), b.sum().item(), x.sum().item())
elif kind == "counter":
    calls = []

    @torch.library.custom_op("mine::count", mutates_args=())
    def count(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.clone()

    count.register_fake(torch.empty_like)
    run = torch.compile(lambda x: count(x.sin()) + 1)
    print(run(torch.ones(4)).sum().item(), len(calls))
elif kind == "argmax":
    run = torch.compile(lambda x: (x.softmax(-1).argmax(-1), x > 0, x.topk(3).indices))
    print([t.sum().item() for t in run(torch.randn(20, 50))])
elif kind == "dynamic":
    run = torch.compile(lambda x: x.cumsum(0).log1p() / x.shape[0], dynamic=True)
    print([run(torch.rand(n, 4)).sum().item() for n in (3, 5, 9)])
elif kind == "graph":  # two regions, a list and a number between them
    @torch.compile
    def run(values, scale):
        total = sum(v * scale for v in values)
        if total.sum() > 0:
            return [total.sin(), {"x": total.exp().clamp(max=1)}]
        return [total, {"x": -total}]

    a, b = run([torch.randn(6), torch.rand(6)], 3)
    print(a.sum().item(), b["x"].sum().item())
elif kind == "checkpoint":
    from torch.utils.checkpoint import checkpoint
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    run = torch.compile(lambda x: checkpoint(model, x, use_reentrant=False))
    loss = run(torch.randn(3, 8, requires_grad=True)).square().mean()
    loss.backward()
    print(loss.item(), model[0].weight.grad.sum().item())
