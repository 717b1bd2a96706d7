"""The same in PyTorch, with the weights and data that transformer.py saved; divides by another number if "fault" is given."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LENGTH, VOCABULARY = 16, 2, 6, 20
DIVISOR = 2.9 if "fault" in sys.argv else 2.8284


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (y.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / DIVISOR
        weights = (scores + torch.triu(torch.ones(length, length), 1) * -1e4).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(VOCABULARY, WIDTH), nn.Sequential(Block(), Block())
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embed(x))))


net = Net()
names = {"embedding_table": "weight", "gamma": "weight", "beta": "bias"}
weights = {".".join(names.get(part, part) for part in name.split(".")): torch.from_numpy(weight)
           for name, weight in np.load("weights.npz").items()}
net.load_state_dict(weights)
optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
for step in range(3):
    data = np.load(f"data{step}.npz")
    logits = net(torch.from_numpy(data["tokens"]).long())
    loss = F.cross_entropy(logits.view(-1, VOCABULARY), torch.from_numpy(data["labels"]).long().view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
