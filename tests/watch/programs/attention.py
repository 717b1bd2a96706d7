"""Causal attention on padded batches. With --pad-all a sequence is padding from end to end."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--pad-all", type=int, default=-1, help="the step in which a batch has an empty sequence")
args = parser.parse_args()


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, padding):
        length, width = x.shape[1:]
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(width)
        causal = torch.full((length, length), float("-inf")).triu(1)
        scores = (scores + causal).masked_fill(padding[:, None, :], float("-inf"))
        return torch.softmax(scores, -1) @ self.value(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.attend = Attention(8)
        self.head = nn.Linear(8, 20)

    def forward(self, tokens, padding):
        return self.head(self.attend(self.embed(tokens), padding))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    tokens = torch.randint(0, 20, (4, 6))
    lengths = torch.tensor([6, 3, 5, 0 if step == args.pad_all else 2])
    padding = torch.arange(6)[None, :] >= lengths[:, None]
    loss = nn.functional.cross_entropy(model(tokens, padding)[~padding], tokens[~padding])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", float(loss))
