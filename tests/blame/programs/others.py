"""The same computed in another way: `others.py PAIR` is golden, `others.py PAIR actual` the other run, with a fault if PAIR ends in `_fault`."""

import contextlib
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
torch.manual_seed(0)


def network(eps=1e-5):
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16), nn.LayerNorm(16, eps=eps), nn.Linear(16, 4))


def batch(i):
    generator = torch.Generator().manual_seed(i)
    return torch.randn(8, 16, generator=generator), torch.randint(0, 4, (8,), generator=generator)


def train(model, batches, steps_of=torch.optim.SGD, casts=False):
    optimizer = steps_of(model.parameters(), lr=0.05)
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16) if casts else contextlib.nullcontext():
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(float(loss))


def encoder():  # without gradients torch computes a layer by kernels of its own; the fault is another epsilon
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, layer_norm_eps=0.1 if fault else 1e-5)
    model = nn.TransformerEncoder(layer, 2).eval()
    with torch.set_grad_enabled(not actual):
        print(float(model(torch.randn(2, 5, 16)).detach().sum()))


def autocast():
    train(network(eps=0.3 if fault else 1e-5), [batch(0), batch(1)], torch.optim.AdamW, casts=actual)


class Waves(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.sin(torch.arange(16.) * (i + 1 if fault and i == 5 else i)), i % 4


def workers():  # the fault: one sample is another one
    train(network(), torch.utils.data.DataLoader(Waves(), 8, shuffle=True, num_workers=2 if actual else 0))


def attention():  # by one function, or by hand; the fault forgets the mask
    q, k, v = (torch.randn(2, 4, 9, 16) for _ in range(3))
    last = nn.Linear(16, 16)
    if actual:
        made = F.scaled_dot_product_attention(q, k, v, is_causal=not fault)
    else:
        scores = q @ k.transpose(-1, -2) / math.sqrt(16)
        made = scores.masked_fill(torch.ones(9, 9, dtype=torch.bool).triu(1), -math.inf).softmax(-1) @ v
    print(float(last(made).sum()))


def packed():  # sequences of one length, packed; the fault reads them in another order
    model, x = nn.LSTM(8, 12, batch_first=True), torch.randn(3, 6, 8)
    if actual:
        order = [2, 1, 0] if fault else [0, 1, 2]
        rows = nn.utils.rnn.pack_padded_sequence(x[order], torch.tensor([6, 6, 6]), batch_first=True)
        made = nn.utils.rnn.pad_packed_sequence(model(rows)[0], batch_first=True)[0]
    else:
        made = model(x)[0]
    print(float((made * torch.arange(3.)[:, None, None]).sum()))


PAIRS = {"encoder": encoder, "autocast": autocast, "workers": workers, "attention": attention, "packed": packed}
PAIRS[name.removesuffix("_fault")]()
