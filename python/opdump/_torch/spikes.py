"""`opdump watch --spike`: a value of the program that is many times as large as it usually is."""

from __future__ import annotations

import math
import os
from collections import deque
from typing import Any

import torch

from opdump._torch import recorder as hooks
from opdump._torch.unrecorded import nothing_reaches_the_program, unrecorded

_REMEMBERED = 50  # values, of which the median is taken
_FEWEST = 5  # before that, a median says nothing


class Spikes:
    """The values of one name."""

    def __init__(self, name: str, factor: float) -> None:
        self.name, self.factor = name, factor
        self.is_logged = False  # by the program: what backward passes start from does not count then
        self._values: deque[float] = deque(maxlen=_REMEMBERED)

    def note(self, value: float) -> str | None:
        """What is wrong with the value; None if nothing is."""
        if not math.isfinite(value):
            return f"{self.name} is {value}"
        median = sorted(self._values)[len(self._values) // 2] if len(self._values) >= _FEWEST else math.inf
        self._values.append(abs(value))
        if abs(value) <= self.factor * median or median == 0:
            return None
        return f"{self.name} is {value:.6g}, {abs(value) / median:.1f} times its median, {median:.6g}"


def from_environment() -> Spikes | None:
    """What is asked for: "loss:5"."""
    name, _, factor = os.environ.get("OPDUMP_SPIKE", "").rpartition(":")
    return Spikes(name, float(factor)) if name else None


spikes = from_environment()


def log(name: str, value: Any) -> None:
    """See opdump.log."""
    if spikes is not None and name == spikes.name:
        spikes.is_logged = True
        _note(spikes, value)


def note_backward(arguments: tuple[Any, ...]) -> None:
    """The arguments of torch.autograd.backward: the loss, if it is one scalar."""
    if spikes is None or spikes.is_logged or not arguments:
        return
    losses = arguments[0] if isinstance(arguments[0], (list, tuple)) else arguments[:1]
    if len(losses) == 1 and getattr(losses[0], "ndim", None) == 0:
        _note(spikes, losses[0])


def _note(values: Spikes, value: Any) -> None:
    with nothing_reaches_the_program("a value that is watched"):
        if problem := values.note(_to_float(value)):
            hooks.raise_alarm("spike", problem)


@unrecorded
def _to_float(value: Any) -> float:
    return float(value.detach() if isinstance(value, torch.Tensor) else value)
