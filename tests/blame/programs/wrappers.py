"""Pairs whose actual model lies in a wrapper: `wrappers.py PAIR` is golden, `wrappers.py PAIR actual` the other run."""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)


class Holder(nn.Module):
    """Calls its only child, which has the given name."""

    def __init__(self, name, module):
        super().__init__()
        self.child = name
        self.add_module(name, module)

    def forward(self, *args):
        return getattr(self, self.child)(*args)


def train(net, batches, loss=lambda out: out.pow(2).mean()):
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.05)
    for batch in batches:
        opt.zero_grad()
        value = loss(net(batch))
        value.backward()
        opt.step()
        print(value.item())


class Residual(nn.Module):
    def __init__(self, width, keeps=True):
        super().__init__()
        self.norm, self.up, self.down, self.keeps = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width), keeps

    def forward(self, x):
        out = self.down(F.gelu(self.up(self.norm(x))))
        return x + out if self.keeps else out + out  # <- compiled_without_residual


class Attention(nn.Module):
    def __init__(self, width, heads, scaled=True):
        super().__init__()
        self.qkv, self.proj, self.heads, self.scaled = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, scaled

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(x).split(c, 2))
        scale = math.sqrt(c // self.heads) if self.scaled else self.heads
        att = (q @ k.transpose(-2, -1)) / scale  # <- encoder_not_scaled
        return self.proj((att.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class LoRA(nn.Module):
    def __init__(self, base, scale, zero=False):
        super().__init__()
        self.base_layer, self.scale = base, scale
        self.lora_A, self.lora_B = nn.Linear(base.in_features, 2, bias=False), nn.Linear(2, base.out_features, bias=False)
        if zero:
            nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scale  # <- adapter_scale


def data_parallel():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    batches = [torch.randn(4, 1, 6, 6) for _ in range(2)]
    train(nn.DataParallel(net) if actual else net, batches)


def lightning():
    class Lit(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def training_step(self, batch):
            return F.mse_loss(self.model(batch), batch)

    net = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 6))
    batches = [torch.randn(5, 6) for _ in range(2)]
    lit = Lit(net) if actual else None
    opt = torch.optim.Adam((lit or net).parameters(), lr=1e-3)
    for batch in batches:
        loss = lit.training_step(batch) if actual else F.mse_loss(net(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()


def compiled_eager():  # torch 2
    net = nn.Sequential(Residual(8), Residual(8))
    batches = [torch.randn(3, 8) for _ in range(2)]
    train(torch.compile(net, backend="eager") if actual else net, batches)


def adapter_of_zeros():
    net = nn.Sequential()
    net.add_module("q_proj", nn.Linear(8, 8))
    net.add_module("act", nn.SiLU())
    net.add_module("out_proj", nn.Linear(8, 4))
    batch = torch.randn(5, 8)
    if actual:
        net.q_proj = LoRA(net.q_proj, 2.0, zero=True)
        net = Holder("base_model", Holder("model", net))
    with torch.no_grad():
        print(net(batch).sum().item())


def averaged():
    from torch.optim.swa_utils import AveragedModel

    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    batch = torch.randn(4, 6)
    if actual:
        net = AveragedModel(net)
    with torch.no_grad():
        print(net(batch).softmax(-1))


def data_parallel_eps():
    net = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8, eps=1e-2 if actual else 1e-5), nn.ReLU(), nn.Linear(8, 2))
    batches = [torch.randn(4, 6) for _ in range(2)]
    train(nn.DataParallel(net) if actual else net, batches)


def lightning_padding():
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular" if actual else "zeros"), nn.ReLU(), nn.Conv2d(4, 2, 3))
    batches = [torch.randn(2, 1, 6, 6) for _ in range(2)]
    train(Holder("model", net) if actual else net, batches)


def compiled_without_residual():
    net = nn.Sequential(Residual(8), Residual(8, keeps=not actual))
    batches = [torch.randn(3, 8) for _ in range(2)]
    train(Holder("_orig_mod", net) if actual else net, batches)


def adapter_scale():
    net = nn.Sequential(LoRA(nn.Linear(8, 8), 0.5 if actual else 2.0), nn.ReLU(), nn.Linear(8, 4))
    batches = [torch.randn(5, 8) for _ in range(2)]
    train(Holder("base_model", Holder("model", net)) if actual else net, batches)


def encoder_not_scaled():
    net = nn.Sequential(Attention(8, 4), nn.LayerNorm(8), Attention(8, 4, scaled=not actual))
    batches = [torch.randn(2, 5, 8) * 3 for _ in range(2)]
    train(Holder("module", Holder("encoder", net)) if actual else net, batches)


globals()[sys.argv[1]]()
