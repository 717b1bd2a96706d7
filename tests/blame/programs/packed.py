"""Documents in a padded batch, or one behind the other: `packed.py PAIR` is golden, `packed.py PAIR actual` packs them, with a fault if PAIR
ends in `_fault`."""

import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(21)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x, mask):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = (q @ k.transpose(-1, -2) * 0.25).masked_fill(~mask, float("-inf"))
        return x + self.out(torch.softmax(scores, -1) @ v)


class Reader(nn.Module):
    """The positions of a document begin at 0."""

    def __init__(self):
        super().__init__()
        self.words, self.places, self.block, self.head = nn.Embedding(50, 16), nn.Embedding(16, 16), Block(), nn.Linear(16, 50)

    def forward(self, ids, places, mask):
        return self.head(self.block(self.words(ids) + self.places(places), mask))


def inputs(docs):
    lengths = torch.tensor([len(doc) for doc in docs])
    if not actual:
        ids = nn.utils.rnn.pad_sequence(docs, batch_first=True)
        kept = torch.arange(ids.shape[1]) < lengths[:, None]
        mask = kept[:, None, :] & torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
        return ids, torch.arange(ids.shape[1]).expand(ids.shape), mask | ~kept[:, :, None], kept
    ids = torch.cat(docs)
    ends = lengths.cumsum(0)
    document = torch.searchsorted(ends, torch.arange(len(ids)), right=not (fault and kind == "causal"))
    places = torch.arange(len(ids)) - (ends - lengths)[document]
    if fault and kind == "train":
        places = torch.arange(len(ids)) % 16
    mask = (document[:, None] == document[None, :]) & torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    if kind == "one_row":
        ids, places, mask = ids[None], places[None], mask[None]
    return ids, places, mask, None


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1 if kind != "train" else 2):
    numbers = torch.Generator().manual_seed(step)
    docs = [torch.randint(1, 50, (length,), generator=numbers) for length in (5, 3, 7)]
    ids, places, mask, kept = inputs(docs)
    logits = model(ids, places, mask)
    labels = ids if kept is None else ids.masked_fill(~kept, -100)
    loss = nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=-100)
    if kind == "train":
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(step, round(loss.item(), 5))
