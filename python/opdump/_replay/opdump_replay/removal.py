"""What tensors of a run would be without a fault, for `opdump blame`."""

from __future__ import annotations

import itertools
from typing import Optional

import torch

from .tensors import CannotReplay

_MAX_ELEMENTS = 1 << 26  # that are kept; the oldest tensors go
_MAX_AXES = 6  # that are tried in all orders
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class _Tensor:
    def __init__(self, old: torch.Tensor, new: torch.Tensor) -> None:
        self.old, self.new = bits_of(old), new
        self._by_value: Optional[tuple[torch.Tensor, torch.Tensor]] = None

    def find_whole(self, x: torch.Tensor) -> Optional[torch.Tensor]:
        """If x is the tensor, reshaped or with other axes."""
        if x.numel() != self.old.numel() or x.dtype != self.old.dtype:
            return None
        if torch.equal(x.flatten(), self.old.flatten()):
            return self.new.reshape(x.shape)
        if sorted(x.shape) == sorted(self.old.shape) and 1 < x.dim() < 5:
            for axes in itertools.permutations(range(x.dim())):
                if self.old.permute(axes).shape == x.shape and torch.equal(self.old.permute(axes), x):
                    return self.new.permute(axes)
        return None

    def find_part(self, x: torch.Tensor) -> Optional[torch.Tensor]:
        """If every element of x is one of the tensor: a slice, a copy in another order. Equal elements get their mean."""
        if x.dtype != self.old.dtype or x.numel() > self.old.numel() or not self.new.is_floating_point():
            return None
        if self._by_value is None:
            values, places = self.old.flatten().unique(return_inverse=True)
            sums = torch.zeros(values.numel(), dtype=torch.float64).scatter_add_(0, places, self.new.flatten())
            self._by_value = values, sums / torch.bincount(places, minlength=values.numel())
        values, means = self._by_value
        flat = x.flatten()
        for piece in (flat[:64], flat):  # most tensors are another one at once
            places = torch.searchsorted(values, piece).clamp_(max=values.numel() - 1)
            if not torch.equal(values[places], piece):
                return None
        return means[places].reshape(x.shape)


class Changed:
    """Tensors as they were recorded, and in float64 as they would be. They are recognised by their elements."""

    def __init__(self) -> None:
        self._tensors: list[_Tensor] = []
        self._elements = 0

    def add(self, old: torch.Tensor, new: torch.Tensor) -> None:
        if old.is_complex() or old.numel() == 0 or old.shape != new.shape:
            return
        self._tensors.append(_Tensor(old, new))
        self._elements += old.numel()
        while self._elements > _MAX_ELEMENTS:
            self._elements -= self._tensors.pop(0).old.numel()

    def find(self, x: torch.Tensor) -> Optional[torch.Tensor]:
        """What x, as it was recorded, would be; none if no other."""
        if x.is_complex() or x.numel() == 0:
            return None
        bits = bits_of(x)
        for tensor in reversed(self._tensors):
            found = tensor.find_whole(bits)
            if found is not None:
                return found
        if not x.is_floating_point() or bool((bits == bits.flatten()[0]).all()):
            return None
        return next((found for found in (t.find_part(bits) for t in reversed(self._tensors)) if found is not None), None)


def bits_of(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().view(_INTEGERS[x.element_size()]) if x.is_floating_point() else x


def arrange(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """x in the shape of another tensor, with its axes in the order that makes the two most alike."""
    if x.numel() != like.numel() or x.is_complex() or like.is_complex():
        raise CannotReplay("the two tensors have other elements")
    wide = like.to(torch.float64)
    flat = x.squeeze()
    orders = itertools.permutations(range(flat.dim())) if flat.dim() < _MAX_AXES else [tuple(range(flat.dim()))]
    arranged = (flat.permute(axes).reshape(like.shape) for axes in orders)
    return min(arranged, key=lambda y: float(torch.linalg.vector_norm(y - wide)))


def describe(x: torch.Tensor) -> list[float]:
    """How many elements, their mean, norm, least and greatest."""
    wide = x.to(torch.float64)
    return [x.numel(), float(wide.mean()), float(torch.linalg.vector_norm(wide)), float(wide.min()), float(wide.max())]


def moved(recorded: torch.Tensor, before: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
    """What was recorded, with the difference that other inputs make: the operator keeps its own error."""
    if not now.is_floating_point():
        return torch.where(now == before, recorded, now.to(recorded.dtype))
    difference, wide = now - before, recorded.to(torch.float64)
    return torch.where(torch.isfinite(difference) & torch.isfinite(wide), wide + difference, now)
