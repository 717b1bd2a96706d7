"""Axes in another order, merged or apart: `axes.py PAIR` is golden, `axes.py PAIR actual` has batches first, heads of their own or a fused
attention, with a fault if PAIR ends in `_fault`."""

import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(12)


class Encoder(nn.Module):
    """Golden has positions first. The fault adds what belongs to a position along the batch."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Parameter(torch.randn(9, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, batch_first=actual)
        self.layers, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(16, 20)

    def forward(self, ids):
        places = self.places[: ids.shape[0], None] if fault or not actual else self.places[: ids.shape[1]]
        x = self.words(ids) + places
        length = x.shape[1 if actual else 0]
        return self.head(self.layers(x, torch.full((length, length), float("-inf")).triu(1)))


class Attention(nn.Module):
    """Golden merges heads with the batch. The fault forgets to scale."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        b, t, d = x.shape
        if not actual:
            q, k, v = (of(x.reshape(b * t, d)).view(b, t, 4, 4).transpose(1, 2).reshape(b * 4, t, 4) for of in (self.q, self.k, self.v))
            y = torch.bmm(torch.softmax(torch.bmm(q * 0.5, k.transpose(1, 2)), -1), v).view(b, 4, t, 4).transpose(1, 2)
        else:
            q, k, v = (of(x).view(b, t, 4, 4).permute(0, 2, 1, 3) for of in (self.q, self.k, self.v))
            y = (torch.softmax(q @ k.transpose(-1, -2) * (0.6 if fault else 0.5), -1) @ v).permute(0, 2, 1, 3)
        return self.out(y.reshape(b, t, d))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.attention, self.norm, self.head = nn.Embedding(20, 16), Attention(), nn.LayerNorm(16), nn.Linear(16, 20)

    def forward(self, ids):
        x = self.words(ids)
        return self.head(self.norm(x + self.attention(x)))


model = Encoder() if kind == "encoder" else Heads()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3) if kind == "heads" else torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    ids = torch.randint(0, 20, (7, 5), generator=torch.Generator().manual_seed(step))
    if kind == "encoder" and actual:
        ids = ids.t().contiguous()
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 5))
