"""Decoding with other caches, and other classes of attention: `caches.py PAIR` is golden, `caches.py PAIR actual` does the same in another way,
with a fault if PAIR ends in `_fault`."""

import math
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
kind, fault = name.removesuffix("_fault"), actual and name.endswith("_fault")
torch.manual_seed(11)
SLOTS = 20


class Growing:
    def __init__(self):
        self.keys = self.values = None

    def update(self, k, v, positions):
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        return k, v


class Static:
    def __init__(self):
        self.keys, self.values = torch.zeros(1, 2, SLOTS, 8), torch.zeros(1, 2, SLOTS, 8)

    def update(self, k, v, positions):
        self.keys.index_copy_(2, positions, k)
        self.values.index_copy_(2, positions, v)
        return self.keys, self.values


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def heads(self, x):
        return x.view(1, x.shape[1], 2, 8).transpose(1, 2)

    def forward(self, x, positions, cache):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        k, v = cache.update(k, v, positions)
        seen = torch.arange(k.shape[2])[None] <= positions[:, None] + (fault and kind == "static")  # <- static_fault
        scores = q @ k.transpose(-2, -1) / math.sqrt(8)  # <- class_fault
        weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
        if fault and kind == "growing" and len(positions) == 1:
            weights = weights * 0.999  # <- growing_fault
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))


class ShortAttention(Attention):
    def forward(self, x, positions, cache):
        q, k, v = (self.heads(part(x)) for part in (self.q, self.k, self.v))
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = torch.matmul(q, k.mT) / (7 if fault else math.sqrt(8))
        weights = torch.softmax(scores.masked_fill(mask.logical_not(), -math.inf), dim=-1)
        return self.out(torch.matmul(weights, v).transpose(1, 2).reshape(1, -1, 16))


class Net(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.words, self.places = nn.Embedding(40, 16), nn.Embedding(SLOTS, 16)
        self.layers = nn.ModuleList(attention() for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))
        self.head = nn.Linear(16, 40)

    def forward(self, ids, positions, caches):
        x = self.words(ids) + self.places(positions)
        for layer, norm, cache in zip(self.layers, self.norms, caches):
            x = x + layer(norm(x), positions, cache)
        return self.head(x)


@torch.no_grad()
def generate(net, ids, caches):
    positions = torch.arange(ids.shape[1])
    for _ in range(4):
        ids = net(ids, positions, caches)[:, -1:].argmax(-1)
        positions = positions[-1:] + 1
        print(ids.item())


net = Net(ShortAttention if actual and kind == "class" else Attention).eval()
prompt = torch.tensor([[5, 17, 3, 28, 9, 11, 30]])
if kind == "static":
    generate(net, prompt, [(Static if actual else Growing)() for _ in range(2)])
elif kind == "growing" and actual:
    caches = [Growing(), Growing()]
    with torch.no_grad():
        parts = [net(prompt[:, :4], torch.arange(4), caches)]
        parts += [net(prompt[:, i:i + 1], torch.tensor([i]), caches) for i in range(4, 7)]
        print(torch.cat(parts, 1).sum().item())
else:
    with torch.no_grad():
        print(net(prompt, torch.arange(7), [Growing(), Growing()]).sum().item())
