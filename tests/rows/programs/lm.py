"""A small language model, run on a batch, on some of its rows, on padded rows or token by token, with one of some faults.

lm.py [rows=2,0] [seed=1] [short] [pad=left:10|right:10] [cache=6] [given] [train] [fault=epsilon|position|late_position|scale|mask]

given: the program says which positions the tokens have.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

options = dict(one.partition("=")[::2] for one in sys.argv[1:])
fault = options.get("fault")
torch.manual_seed(0)
WORDS, WIDTH, HEADS = 50, 32, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, mask, kept=None):
        batch, length, _ = x.shape
        query, key, value = (layer(x).view(batch, length, HEADS, -1).transpose(1, 2) for layer in (self.query, self.key, self.value))
        if kept:
            key, value = torch.cat([kept[0], key], 2), torch.cat([kept[1], value], 2)
        if kept is not None:
            kept[:] = key, value
        size = query.shape[-1] + (fault == "scale")
        scores = query @ key.transpose(-1, -2) / size**0.5
        weights = scores.masked_fill(mask, -1e9).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, mask, kept=None):
        x = x + self.attention(self.first(x), mask, kept)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(16, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens, attends, begin=0, kept=(None, None), places=None):
        length = attends.shape[1]
        if places is None:
            places = (attends.cumsum(1) - 1)[:, begin:].clamp(min=0) + (fault == "position" or (fault == "late_position" and begin > 0))
        future = torch.ones(length, length, dtype=torch.bool).triu(1)[begin:]
        mask = future if fault == "mask" else future | ~attends[:, None, None, :].bool()
        x = self.words(tokens) + self.places(places)
        for block, of_block in zip(self.blocks, kept):
            x = block(x, mask, of_block)
        return self.head(self.norm(x))


model = Model()
if fault == "epsilon":
    model.blocks[1].second.eps = 1e-3
torch.manual_seed(int(options.get("seed", 1)))
tokens = torch.randint(3, WORDS, (4, 6 if "short" in options else 10))
if "rows" in options:
    tokens = tokens[[int(row) for row in options["rows"].split(",")]]
attends = torch.ones_like(tokens)
if "pad" in options:
    side, _, length = options["pad"].partition(":")
    missing = int(length) - tokens.shape[1]
    place = (missing, 0) if side == "left" else (0, missing)
    tokens, attends = F.pad(tokens, place), F.pad(attends, place)
if "train" in options:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        logits = model(tokens, attends)
        F.cross_entropy(logits[:, :-1].reshape(-1, WORDS), tokens[:, 1:].reshape(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()
elif "cache" in options:
    first, kept = int(options["cache"]), ([], [])
    with torch.no_grad():
        for begin, end in [(0, first)] + [(i, i + 1) for i in range(first, tokens.shape[1])]:
            off = fault == "late_position" and begin > 0
            places = torch.tensor([list(range(begin - off, end - off))]) if "given" in options else None
            print(model(tokens[:, begin:end], attends[:, :end], begin, kept, places).shape)
else:
    with torch.no_grad():
        print(model(tokens, attends, places=torch.tensor([list(range(tokens.shape[1]))]) if "given" in options else None).shape)
