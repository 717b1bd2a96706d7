"""A part of a network that computes the same in quite another way: `regions.py PAIR` and `regions.py PAIR actual`, with a fault in the other
way if PAIR ends in `_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")


class Tagger(nn.Module):
    """Packed sequences against padded ones, of which the last valid state counts."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 10)
        self.rnn = nn.LSTM(10, 14, batch_first=True)
        self.out = nn.Linear(14, 4)

    def forward(self, tokens, lengths):
        x = self.words(tokens)
        if actual:
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            states, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        else:
            states, _ = self.rnn(x)
        last = lengths - 1
        if fault:
            last = last - (lengths > 6).long()  # the last state of long ones is lost
        return self.out(states[torch.arange(len(tokens)), last])


class Experts(nn.Module):
    """A mixture of experts: each computes its own tokens, or all of them, weighted by 0 or 1."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(6, 12)
        self.gate = nn.Linear(12, 3)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12)) for _ in range(3))
        self.leave = nn.Linear(12, 4)

    def mix(self, x):
        scores = self.gate(x).softmax(-1)
        weight, chosen = scores.max(-1)
        if not actual:
            y = torch.zeros_like(x)
            for number, expert in enumerate(self.experts):
                rows = torch.where(chosen == number)[0]
                y = y.index_add(0, rows, expert(x[rows]) * weight[rows, None])
            return y
        if fault:
            weight = weight.detach()
        masks = F.one_hot(chosen, 3).to(x.dtype) * weight[:, None]
        return torch.einsum("eto,te->to", torch.stack([expert(x) for expert in self.experts]), masks)

    def forward(self, tokens, lengths):
        x = torch.tanh(self.enter(F.one_hot(tokens[:, :6] % 5, 5).float().sum(-1) + lengths[:, None]))
        return self.leave(x + self.mix(x))


class Attention(nn.Module):
    """Attention of each row by itself, without what pads it, against the whole batch with a mask."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 16)
        self.heads = nn.Linear(16, 48)
        self.out = nn.Linear(16, 4)

    def attend(self, qkv, mask=None):
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(-3, -2) for part in qkv.chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / 8**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None], -torch.inf)
        return (scores.softmax(-1) @ v).transpose(-3, -2).flatten(-2)

    def forward(self, tokens, lengths):
        x = self.words(tokens)
        if not actual:
            mask = torch.arange(tokens.shape[1]) < lengths[:, None]
            y = self.attend(self.heads(x), mask) * mask[..., None]
            return self.out(y.sum(1) / lengths[:, None])
        pooled = []
        for row, length in zip(x, lengths.tolist()):
            y = self.attend(self.heads(row[:length]))
            pooled.append(y.sum(0) / len(row if fault else y))
        return self.out(torch.stack(pooled))


class Pool(nn.Module):
    """A convolution as one matrix product over patches, and a pooling by a reshape."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 9)
        self.conv = nn.Conv1d(9, 8, 3, padding=1)
        self.out = nn.Linear(8, 4)

    def forward(self, tokens, lengths):
        x = self.words(tokens).transpose(1, 2)
        if not actual:
            return self.out(F.avg_pool1d(F.relu(self.conv(x)), 5).mean(-1))
        patches = F.pad(x, (1, 1)).unfold(2, 3, 1).permute(0, 2, 1, 3).flatten(2)
        weight = self.conv.weight.flip(-1) if fault else self.conv.weight
        y = F.relu(patches @ weight.flatten(1).T + self.conv.bias)
        return self.out(y.unflatten(1, (-1, 5)).mean(2).mean(1))


torch.manual_seed(61)
model = {"tagger": Tagger, "experts": Experts, "rows": Attention, "patches": Pool}[kind]()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(3):
    lengths = torch.randint(3, 11, (6,))
    lengths[0] = 10
    tokens = torch.randint(1, 40, (6, 10)) * (torch.arange(10) < lengths[:, None])
    labels = torch.randint(0, 4, (6,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens, lengths), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
