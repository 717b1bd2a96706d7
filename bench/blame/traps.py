"""What is no operator's fault, and is mistaken for one: changes of a network or its data before a run."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

Data = list[torch.Tensor]


def plain(net: nn.Module, data: Data) -> None:
    pass


def _after(net: nn.Module, change: object) -> None:
    """`change` replaces what the first layer with weights returns."""
    layer = next(m for m in net.modules() if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d)))
    forward = layer.forward
    layer.forward = lambda x: change(forward(x))  # type: ignore[operator, method-assign]


def overwritten(net: nn.Module, data: Data) -> None:
    def change(y: torch.Tensor) -> torch.Tensor:
        y.detach().numpy().reshape(-1)[1:4] += 0.5
        return y
    _after(net, change)


def weight(net: nn.Module, data: Data) -> None:
    next(net.parameters()).data.numpy().reshape(-1)[5] += 0.01


def other_data(net: nn.Module, data: Data) -> None:
    data[0].numpy()[:] = data[0].numpy()[::-1].copy()


def zeros(net: nn.Module, data: Data) -> None:
    for x in data:
        x.zero_()


def dropout(net: nn.Module, data: Data) -> None:
    _after(net, lambda y: F.dropout(y, 0.3))


def other_seed(net: nn.Module, data: Data) -> None:
    dropout(net, data)
    torch.manual_seed(77)


def copied(net: nn.Module, data: Data) -> None:
    _after(net, lambda y: y.clone())


def scaled(net: nn.Module, data: Data) -> None:
    _after(net, lambda y: y * 1.5)


def scaled_otherwise(net: nn.Module, data: Data) -> None:
    _after(net, lambda y: y * 1.55)


def uninitialised(net: nn.Module, data: Data) -> None:
    def change(y: torch.Tensor) -> torch.Tensor:
        room = torch.empty(2, *y.shape)
        room[0] = y.detach()
        return y + 0 * room[0]
    _after(net, change)


def padded(net: nn.Module, data: Data) -> None:
    """Rows that nobody fills, and whose results nobody reads."""
    def change(y: torch.Tensor) -> torch.Tensor:
        room = torch.empty(len(y) + 2, *y.shape[1:])
        room.numpy()[len(y):] = np.random.default_rng().standard_normal(room[len(y):].shape)
        room = room.index_copy(0, torch.arange(len(y)), y)
        return torch.tanh(room)[:len(y)]
    _after(net, change)


def fewer(net: nn.Module, data: Data) -> None:
    for x in data:
        x[-2:] = 0


# (golden, actual, the causes that are right; none: nothing is to blame)
TRAPS = {
    "overwritten": ("plain", "overwritten", ("overwritten",)),
    "weight": ("plain", "weight", ("input",)),
    "other data": ("plain", "other_data", ("input",)),
    "all zero": ("zeros", "zeros", ()),
    "uninitialised": ("uninitialised", "uninitialised", ()),
    "another seed": ("dropout", "other_seed", ("random",)),
    "padding": ("padded", "padded", ()),
    "padded data": ("plain", "fewer", ("input",)),
    "a profiling run": ("plain", "zeros", ("input",)),
    "a copy more": ("plain", "copied", ()),
    "an operator more": ("plain", "scaled", ("sequence",)),
    "a constant": ("scaled", "scaled_otherwise", ("argument",)),
    "data and a weight": ("weight", "other_data", ("input",)),
}
