"""A batch in micro-batches: `accumulated.py PAIR` takes each batch at once, `accumulated.py PAIR actual` in four pieces, or scales
its loss, with a fault if PAIR ends in `_fault`."""

import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
pieces = 4 if actual and kind != "scaler" else 1
torch.manual_seed(9)


class Tagger(nn.Module):
    """A tag for each word; words of 0 are padding."""

    def __init__(self):
        super().__init__()
        self.words, self.mix, self.norm, self.tags = nn.Embedding(30, 12), nn.Linear(12, 12), nn.LayerNorm(12), nn.Linear(12, 5)

    def forward(self, ids, mask=None):
        x = self.words(ids)
        if mask is not None:
            mean = (x * mask.unsqueeze(-1)).sum(1, keepdim=True) / mask.sum(1)[:, None, None]
            x = x + torch.tanh(self.mix(mean))
        return self.tags(self.norm(x))


def batch(step):
    numbers = torch.Generator().manual_seed(step)
    ids = torch.randint(1, 30, (8, 10), generator=numbers)
    ids = torch.where(torch.arange(10) < torch.randint(4, 11, (8, 1), generator=numbers), ids, 0)
    return ids, torch.where(ids > 0, ids % 5, -100)


def loss_of(logits, labels, everything):
    if kind == "tokens" and not fault:
        summed = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
        return summed / (everything != -100).sum()
    if kind == "masked" or kind == "tokens":
        mean = nn.functional.cross_entropy(logits[:, 1].contiguous(), labels[:, 1]) if kind == "masked" else nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return mean if fault and kind == "masked" else mean / pieces
    loss = nn.functional.cross_entropy(logits[:, 1], labels[:, 1])
    return loss * 1024 if kind == "scaler" and actual else loss


model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    ids, labels = batch(step)
    mask = (ids != 0).float() if kind == "masked" else None
    optimizer.zero_grad()
    for i in range(pieces):
        of_piece = slice(i * len(ids) // pieces, (i + 1) * len(ids) // pieces)
        logits = model(ids[of_piece], None if mask is None else mask[of_piece])
        loss_of(logits, labels[of_piece], labels).backward()
    for parameter in model.parameters():
        if parameter.grad is None or not actual:
            continue
        if kind == "scaled" and not fault:
            parameter.grad.div_(pieces)
        if kind == "scaler":
            parameter.grad.mul_(1 / (1000 if fault else 1024))
    optimizer.step()
    print(step, model.tags.weight.abs().sum().item())
