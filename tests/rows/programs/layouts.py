"""A network on batches of tokens, with axes in one order or another, or merged, and with one of some faults.

swapped: the encoder takes tokens for batches.
layouts.py [encoder] [tokens_first] [swapped] [flat] [fault=epsilon|scale]
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

options = dict(one.partition("=")[::2] for one in sys.argv[1:])
fault, tokens_first = options.get("fault"), "tokens_first" in options
torch.manual_seed(0)
WORDS, WIDTH, HEADS, BATCH, LENGTH = 40, 16, 4, 3, 7


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.merged, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        # Batch, heads, tokens, width in both.
        order = (1, 2, 0, 3) if tokens_first else (0, 2, 1, 3)
        query, key, value = (part.reshape(*x.shape[:2], HEADS, -1).permute(order) for part in self.merged(x).chunk(3, -1))
        scores = query @ key.transpose(-1, -2) / (query.shape[-1] + (fault == "scale")) ** 0.5
        found = scores.masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), -1e9).softmax(-1) @ value
        return self.out(found.permute((2, 0, 1, 3) if tokens_first else (0, 2, 1, 3)).reshape(x.shape))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        y = self.second(x.reshape(-1, WIDTH) if "flat" in options else x)
        return x + self.down(F.gelu(self.up(y))).reshape(x.shape)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        if "encoder" in options:
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=not tokens_first or "swapped" in options)
            self.blocks = nn.TransformerEncoder(layer, 2)
        else:
            self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        return self.head(self.blocks(self.words(tokens) * (2 + (fault == "scale"))))


model = Model()
if fault == "epsilon":
    (model.blocks.layers[1].norm1 if "encoder" in options else model.blocks[1].second).eps = 1e-3
tokens = torch.randint(WORDS, (BATCH, LENGTH))
with torch.no_grad():
    print(model(tokens.t() if tokens_first else tokens).shape)
