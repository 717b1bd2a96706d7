"""Trains a network of PyTorch for two steps: torch_nets.py NETWORK WEIGHTS.npz. Writes its first weights there."""

import sys

import numpy
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        split = lambda y: y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, 4)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.head = nn.Embedding(20, 16), nn.LayerNorm(16), nn.Linear(16, 5)
        self.blocks = nn.ModuleList(Block(16) for _ in range(2))

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).mean(1)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1, self.conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 6, 3, stride=2, padding=1)
        self.head = nn.Linear(6, 5)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm1(self.conv1(x))), 2)
        return self.head(torch.relu(self.conv2(x)).mean((2, 3)))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second, self.last = nn.Linear(12, 16), nn.LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return self.last(torch.tanh(self.second(x)))


def main():
    torch.manual_seed(0)
    name, weights = sys.argv[1:]
    net = {"mlp": Layers, "cnn": Convolutions, "transformer": Transformer}[name]()
    numpy.savez(weights, **{key: value.numpy() for key, value in net.state_dict().items()})
    random = numpy.random.default_rng(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        inputs = {"mlp": lambda: random.normal(size=(4, 12)).astype("f"), "cnn": lambda: random.normal(size=(4, 3, 8, 8)).astype("f"),
                  "transformer": lambda: random.integers(0, 20, (4, 6))}[name]()
        optimizer.zero_grad()
        loss = net(torch.from_numpy(inputs)).square().mean()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.5f}")


main()
