"""One recording of this process: steps, names of operators, and what crosses the C interface."""

from __future__ import annotations

import ctypes
import enum
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from opdump import _interface as c
from opdump._jax.sites import Operand, Site

_KINDS_OF_ARGUMENTS = {bool: c.ARG_BOOL, int: c.ARG_INT, float: c.ARG_FLOAT, str: c.ARG_STRING}


class Clock(enum.IntEnum):
    """Who counts the steps; a later one replaces an earlier one when it ends its first step."""

    UNITS = 0  # functions and modules that a program calls again
    OPTIMIZERS = 1
    EXPLICIT_CALLS = 2


class Recording:
    """Thread-safe."""

    def __init__(self, session: Any, root: str) -> None:
        self.session, self.root = session, root
        self.step = 0
        self._lock = threading.RLock()
        self._clock = Clock.UNITS
        self._ended_steps = 0
        self._units: set[str] = set()  # of this step
        self._call: object = None  # of an outermost module, that runs
        self._operators: dict[str, Any] = {}
        self._numbers: dict[tuple[str, str], int] = {}  # of this step: how many operators of a type a scope has had
        self._unseen: set[str] = set()
        self.is_active = bool(c.set_step(session, 0))

    # ---- steps

    def begin_unit(self, unit: str) -> None:
        """A function or a module begins that the program calls again in each of its steps."""
        with self._lock:
            if self._clock == Clock.UNITS and unit in self._units:
                self.tick(Clock.UNITS)
            self._units.add(unit)

    def tick(self, clock: Clock) -> None:
        with self._lock:
            self._clock = max(clock, self._clock)
            if self._clock != clock:
                return
            self._ended_steps += 1
            self.step += 1
            self._units.clear()
            self._numbers.clear()
            self.is_active = bool(c.set_step(self.session, self.step))

    def open_step(self) -> int:
        """What the step under way is if the recording ends now."""
        is_step = self._ended_steps == 0 or (self._clock == Clock.UNITS and self._units)
        return c.STEP_WHOLE if is_step else c.STEP_TAIL

    # ---- operators

    def run(self, site: Site, arrays: tuple[Any, ...]) -> None:
        """A call of a module whose arrays are there, or the end of an optimizer."""
        with self._lock:
            if site.is_optimizer:
                self.tick(Clock.OPTIMIZERS)
                return
            if site.call is not None and site.call is not self._call:
                self._call = site.call
                self.begin_unit(site.call.unit)
            if self.is_active:
                self.record(site, arrays, site.operands)

    def record(self, site: Site, arrays: tuple[Any, ...], operands: tuple[Operand, ...]) -> None:
        with self._lock:
            key = (site.scope, site.kind)
            number = self._numbers.get(key, 0)
            self._numbers[key] = number + 1
            operator = self._define(site, f"{self.root}{site.scope}/{site.kind}-op{number}")
            wants = c.wants(self.session, operator)
            if wants == 0:
                return
            kept: list[Any] = []
            tensors = [_describe(operand, array, kept) for operand, array in zip(operands, arrays)]
            inputs = [tensor for tensor, operand in zip(tensors, operands) if not operand.is_output]
            outputs = [tensor for tensor, operand in zip(tensors, operands) if operand.is_output]
            call = c.begin(self.session, operator, *_array_of(inputs))
            if call is not None and wants & c.WANTS_ARGUMENTS:
                arguments = [_argument(name, value, kept) for name, value in site.arguments]
                c.set_arguments(self.session, call, (c.Argument * max(1, len(arguments)))(*arguments), len(arguments))
            c.end(self.session, call, *_array_of(outputs), 0)

    def report_unseen(self, what: str, reason: str) -> None:
        """Once."""
        if what not in self._unseen:
            self._unseen.add(what)
            c.report_unseen(self.session, c.encode(what), c.encode(reason))

    def guard(self, what: str, act: Callable[[], object]) -> None:
        """What is thrown there is a loss, and not the program's concern."""
        try:
            act()
        except Exception as error:
            self.report_unseen(what, repr(error)[:300])

    def _define(self, site: Site, name: str) -> Any:
        if name not in self._operators:
            line = site.line
            frames = (ctypes.c_char_p * max(1, len(line.stack)))(*map(c.encode, line.stack))
            info = c.OpInfo(phase=c.FORWARD, type=c.encode(site.kind), name=c.encode(name), source_file=c.encode(line.file) or None,
                            source_line=line.line, graph_id=0, frames=frames if line.stack else None, frame_count=len(line.stack))
            self._operators[name] = c.define(self.session, info)
        return self._operators[name]


def _describe(operand: Any, array: Any, kept: list[Any]) -> c.Tensor:
    name = c.encode(operand.name)
    tensor = c.Tensor(index=operand.number, value=operand.value, name=name, role=c.WEIGHT if operand.is_weight else c.INPUT)
    values = np.ascontiguousarray(np.asarray(array)).reshape(np.shape(array))  # the first one makes a vector of a number
    shape = (ctypes.c_int64 * max(1, values.ndim))(*values.shape)
    kept += [values, shape, name]
    tensor.rank, tensor.shape = values.ndim, shape
    tensor.dtype = c.DTYPES.get(values.dtype.name, 0)
    if tensor.dtype:
        tensor.data = values.ctypes.data if values.size else None
    else:
        tensor.undumped = b"dtype is not known"
    return tensor


def _array_of(tensors: list[c.Tensor]) -> tuple[Any, int]:
    return (c.Tensor * max(1, len(tensors)))(*tensors), len(tensors)


def _argument(name: str, value: Any, kept: list[Any]) -> c.Argument:
    argument = c.Argument(kind=_KINDS_OF_ARGUMENTS.get(type(value), c.ARG_NONE), name=c.encode(name))
    if isinstance(value, (bool, int)):
        argument.integer = value
    elif isinstance(value, float):
        argument.floating = value
    elif isinstance(value, str):
        argument.text = c.encode(value)
    elif isinstance(value, tuple):
        items = (c.Argument * max(1, len(value)))(*(_argument("", item, kept) for item in value))
        kept.append(items)
        argument.kind, argument.items, argument.count = c.ARG_LIST, items, len(value)
    return argument
