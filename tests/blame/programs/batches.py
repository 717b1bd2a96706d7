"""Rows that two runs give a model in batches of other sizes: `batches.py PAIR` and `batches.py PAIR actual`, with a fault in actual if PAIR
ends in `_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(8)


class Encoder(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.words, self.norm, self.out = nn.Embedding(30, 16), nn.LayerNorm(16, eps=eps), nn.Linear(16, 8)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, tokens):
        shown = tokens != 0
        x = self.words(tokens)
        x = self.norm(x + self.attention(x, x, x, key_padding_mask=None if fault and kind == "padded" else ~shown, need_weights=False)[0])
        x = (x * shown[..., None]).sum(1) / shown.sum(1, keepdim=True)
        return self.out(x)


def evaluated():  # after a training, with a loss for each batch
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    x, y = torch.randn(20, 6), torch.randint(0, 3, (20,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    if not fault:
        net.eval()
    total, right = 0.0, 0
    with torch.no_grad():
        for a, b in DataLoader(TensorDataset(x, y), batch_size=5 if actual else 10):
            scores = net(a)
            total += F.cross_entropy(scores, b, reduction="sum").item()
            right += (scores.argmax(-1) == b).sum().item()
    print(f"{total / 20:.5f} {right}")


def uneven():  # the last batches are smaller, and batches overlap
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4, eps=1e-2 if fault else 1e-5), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                        nn.Flatten(), nn.Linear(4, 2)).eval()
    images = torch.rand(11, 1, 6, 6)
    with torch.inference_mode():
        found = torch.cat([net(part).softmax(-1) for part in images.split(3 if actual else 4)])
    print(found.argmax(-1).tolist(), f"{found.max().item():.5f}")


def padded():  # each batch is padded to its own longest row
    net = Encoder().eval()
    rows = [torch.randint(1, 30, (n,)) for n in (3, 7, 5, 2, 6, 4)]
    size = 2 if actual else 3
    found = []
    with torch.no_grad():
        for i in range(0, 6, size):
            found.append(net(nn.utils.rnn.pad_sequence(rows[i:i + size], batch_first=True)))
    print(f"{torch.cat(found).square().sum().item():.5f}")


def one_by_one():  # a search: texts in a batch against each by itself
    net = Encoder(eps=1e-2 if fault else 1e-5).eval()
    texts, query = torch.randint(1, 30, (5, 6)), torch.randint(1, 30, (1, 6))
    with torch.no_grad():
        if actual:
            found = torch.stack([net(t[None])[0] for t in texts])
        else:
            found = net(texts)
        wanted = net(query)
        near = F.normalize(found, dim=-1) @ F.normalize(wanted, dim=-1)[0]
    print(near.topk(2).indices.tolist(), f"{near.max().item():.5f}")


def shifted():  # a batch of which one run has left out the first row
    net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).eval()
    x = torch.randn(12, 6)
    with torch.no_grad():
        found = torch.cat([net(part) for part in (x[1:] if fault else x).split(3 if actual else 6)])
    print(f"{found.mean().item():.5f}")


def cells():  # the first module runs once for each position, as no call of the model begins
    words, cell, head = nn.Embedding(30, 8), nn.GRUCell(8, 12), nn.Linear(12, 3)

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.cell, self.head = words, cell, head

        def forward(self, tokens):
            h = torch.zeros(len(tokens), 12)
            for t in range(tokens.shape[1] - (1 if fault else 0)):
                h = self.cell(self.words(tokens[:, t]), h)
            return self.head(h)

    net, tokens = Tagger().eval(), torch.randint(0, 30, (12, 5))
    with torch.no_grad():
        found = torch.cat([net(part) for part in tokens.split(3 if actual else 6)])
    print(f"{found.square().sum().item():.5f}")


def normalised():  # by the numbers of all rows, or wrongly by those of a batch
    net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).eval()
    x = torch.randn(12, 6)
    mean, spread = x.mean(0), x.std(0)
    found = []
    with torch.no_grad():
        for part in x.split(3 if actual else 6):
            found.append(net((part - part.mean(0)) / part.std(0) if fault else (part - mean) / spread))
    print(f"{torch.cat(found).square().sum().item():.5f}")


def ordered():  # what the batches give is put together, or wrongly from the last one on
    net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).eval()
    with torch.no_grad():
        found = [net(part) for part in torch.randn(12, 6).split(3 if actual else 6)]
    print(torch.cat(found[::-1] if fault else found).argmax(-1).tolist())


def later():  # five steps of a training, and an evaluation behind them
    net = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 5))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(61, 10), torch.randint(0, 5, (61,))
    for i in range(0, 40, 8):
        optimizer.zero_grad()
        F.cross_entropy(net(x[i:i + 8]), y[i:i + 8]).backward()
        optimizer.step()
    if not fault:
        net.eval()
    total = 0.0
    with torch.no_grad():
        for data, labels in DataLoader(TensorDataset(x[40:], y[40:]), batch_size=21 if actual else 8):
            total += F.cross_entropy(net(data), labels, reduction="sum").item()
    print(f"{total / 21:.5f}")


{"evaluated": evaluated, "uneven": uneven, "padded": padded, "one_by_one": one_by_one, "shifted": shifted, "cells": cells,
 "normalised": normalised, "ordered": ordered, "later": later}[kind]()
