"""Where a program calls a module: what is known of the call when JAX traces it."""

from __future__ import annotations

import itertools
from typing import NamedTuple

_numbers = itertools.count(1)


def next_number() -> int:
    return next(_numbers)


class Line(NamedTuple):
    """A line of the program, and the calls that led there: "train.py:31:loss", innermost first."""

    file: str = ""
    line: int = 0
    stack: tuple[str, ...] = ()


class Operand(NamedTuple):
    """One of the arrays of a call."""

    is_output: bool
    number: int  # among the inputs or outputs
    value: int  # equal numbers are one array
    name: str | None  # "Dense_0.kernel"
    is_weight: bool = False


class Call:
    """A call of an outermost module, of a program that runs its operators one by one."""

    def __init__(self, unit: str) -> None:
        self.unit = unit  # what a program repeats


class Site:
    """A call of a module, or the end of an optimizer. A parameter of the primitive: equal to itself only."""

    def __init__(self, scope: str, kind: str, operands: tuple[Operand, ...], arguments: tuple[tuple[str, object], ...], line: Line,
                 call: Call | None) -> None:
        self.scope, self.kind, self.operands, self.arguments, self.line, self.call = scope, kind, operands, arguments, line, call
        self.order = next_number()

    @property
    def is_optimizer(self) -> bool:
        return not self.kind

    def __repr__(self) -> str:
        return f"{self.scope}/{self.kind}"


OPTIMIZER = Site("", "", (), (), Line(), None)
