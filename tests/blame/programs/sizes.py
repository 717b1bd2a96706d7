"""Tensors of other sizes: `sizes.py PAIR` is golden, `sizes.py PAIR actual` pads or crops what it computes, with a fault if PAIR ends in
`_fault`."""

import math
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
torch.manual_seed(1)


class Averages(nn.Module):
    """Each token is the average of those before it. Actual has two empty places at the end; the fault loses the first token."""

    def __init__(self):
        super().__init__()
        self.words, self.mix, self.head = nn.Embedding(30, 16), nn.Linear(16, 16), nn.Linear(16, 30)

    def forward(self, ids):
        x = torch.relu(self.words(ids))
        if fault:
            x = x[:, 1:].contiguous()
        elif actual:
            x = torch.cat([x, x.new_zeros(1, 2, 16)], 1)
        seen = torch.ones(x.shape[1], x.shape[1]).tril()
        seen[:, ids.shape[1]:] = 0
        x = seen / seen.sum(-1, keepdim=True) @ self.mix(x)
        return self.head(x[:, : ids.shape[1]])


class Best(nn.Module):
    """A token is chosen by its score. In the fault, nothing keeps padding from being chosen, though it is not."""

    def __init__(self):
        super().__init__()
        self.words, self.key, self.out = nn.Embedding(40, 16), nn.Linear(16, 16), nn.Linear(16, 5)
        nn.init.constant_(self.key.bias, 3)

    def forward(self, ids):
        width = 9 if actual else 6
        x = torch.cat([self.words(ids), torch.zeros(1, width - ids.shape[1], 16)], 1)
        scores = self.key(x).sum(-1)
        if not fault:
            scores = scores.masked_fill(torch.arange(width) >= ids.shape[1], -math.inf)
        return self.out(x[0, scores.argmax(-1)])


with torch.no_grad():
    out = (Averages() if name.startswith("averages") else Best())(torch.tensor([[3, 5, 8, 1, 7, 2][: 6 if name.startswith("averages") else 4]]))
print([round(value, 3) for value in out.flatten().tolist()[-4:]])
