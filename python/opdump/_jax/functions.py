"""Functions that the program gives to jax.jit. The compiled function of the program runs as it is. In a recorded step a copy of it runs
before, which shows what the modules in it read and write; what it computes is dropped."""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src import core as inner
from jax._src import debugging
from jax.extend import core

from opdump import _stderr
from opdump._frames import leave_no_frame
from opdump._jax.recording import Clock, Recording
from opdump._jax.sites import Site
from opdump._jax.taps import is_clean, operands_of, taps

_SILENCED = (debugging.DebugEffect, debugging.OrderedDebugEffect)
_MOST_COPIES = 16  # of a function: one for each combination of shapes


class Unobservable(Exception):
    """Why a function cannot be seen."""


class Copy:
    """A function for arguments of some shapes, compiled so that it shows what its modules read and write."""

    def __init__(self, jit: Callable[..., Any], jaxpr: Any) -> None:
        self.jaxpr = jaxpr
        self.operands = operands_of(jaxpr)
        self.trains = any(site.is_optimizer for site in self.operands)
        self.shows = any(not site.is_optimizer for site in self.operands)
        self.rounds_otherwise = False  # it has been said
        self._run = jit(core.jaxpr_as_fun(jaxpr))
        self._shown: list[tuple[Site, tuple[Any, ...]]] = []
        self._lock = threading.Lock()

    def run(self, arguments: list[Any]) -> tuple[list[Any], list[tuple[Site, tuple[Any, ...]]]]:
        """The results, and what it has shown, in the order of the program."""
        others = [effect for effect in self.jaxpr.effects if not isinstance(effect, _SILENCED)]
        if others or getattr(self.jaxpr, "is_high", False):
            raise Unobservable(f"it changes something besides its results ({others[0] if others else 'mutable arrays'}), "
                               "and a copy of it must not")
        with taps.shown(self._show), inner.eval_context():
            results = self._run(*arguments)
            jax.block_until_ready(results)
            jax.effects_barrier()
        shown, self._shown = self._shown, []
        if len(shown) == len({site for site, _ in shown}):  # no loop: the order of arrival says nothing
            shown.sort(key=lambda item: item[0].order)
        return results, shown

    def _show(self, site: Site, values: tuple[Any, ...]) -> None:
        values = tuple(np.array(value) for value in values)
        with self._lock:
            self._shown.append((site, values))


class Function:
    """In place of what jax.jit returns."""

    def __init__(self, compiled: Any, jit: Callable[..., Any], options: dict[str, Any], find_recording: Callable[[], Recording | None]) -> None:
        functools.update_wrapper(self, compiled)
        self._opdump = _Observed(compiled, jit, options, find_recording)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._opdump.call(args, kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_opdump":
            raise AttributeError(name)
        return getattr(self._opdump.compiled, name)

    def __reduce__(self) -> Any:
        return self._opdump.compiled.__reduce__()

    def __repr__(self) -> str:
        return repr(self._opdump.compiled)


class _Observed:
    def __init__(self, compiled: Any, jit: Callable[..., Any], options: dict[str, Any], find_recording: Callable[[], Recording | None]) -> None:
        self.compiled = compiled
        self._jit, self._options, self._find_recording = jit, options, find_recording
        self._copies: dict[int, Copy] = {}

    def call(self, args: Any, kwargs: Any) -> Any:
        recording = self._find_recording()
        if recording is None:
            return self.compiled(*args, **kwargs)
        seen: list[Any] = []
        recording.guard(self._name(), lambda: seen.append(self._observe(recording, args, kwargs)))
        try:
            with taps.watched():
                results = self.compiled(*args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        if seen and seen[0] is not None:
            copy, own = seen[0]
            if own is not None and not copy.rounds_otherwise:
                recording.guard("results of a copy", lambda: self._check(copy, jax.tree.leaves(results), own))
            if copy.trains:
                recording.tick(Clock.OPTIMIZERS)
        return results

    def _observe(self, recording: Recording, args: Any, kwargs: Any) -> tuple[Copy, list[Any] | None] | None:
        """What this function is and, if its results are its own, these. None where another function is traced, which shows this one."""
        is_clean_here = is_clean()
        if not is_clean_here:
            values = _values_of((args, kwargs))
            if values is None:
                return None
            args, kwargs = values
        copy = self._find_copy(args, kwargs)
        if copy is None or not copy.shows:
            return copy and (copy, None)
        recording.begin_unit(f"function {id(self)}")
        if not recording.is_active:
            return copy, None
        arguments = jax.tree.leaves(self._without_static(args, kwargs))
        if len(arguments) != len(copy.jaxpr.in_avals):
            raise TypeError(f"it takes {len(copy.jaxpr.in_avals)} arrays, and {len(arguments)} are found")
        try:
            results, shown = copy.run(arguments)
        except Unobservable as error:
            recording.report_unseen(f"modules in {self._name()}", str(error))
            return copy, None
        for site, arrays in shown:
            recording.record(site, arrays, copy.operands[site])
        return copy, results if is_clean_here else None

    def _find_copy(self, args: Any, kwargs: Any) -> Copy | None:
        """None if the function fails: it does so again when the program calls it."""
        try:
            with taps.watched(), inner.eval_context():
                jaxpr = self.compiled.trace(*args, **kwargs).jaxpr
        except Exception:
            return None
        copy = self._copies.get(id(jaxpr))
        if copy is None:
            if len(self._copies) >= _MOST_COPIES:
                self._copies.clear()
            copy = self._copies[id(jaxpr)] = Copy(self._jit, jaxpr)
        return copy

    def _without_static(self, args: Any, kwargs: Any) -> Any:
        """As jax.jit finds out which arguments are no arrays."""
        numbers, names = _listed(self._options.get("static_argnums")), _listed(self._options.get("static_argnames"))
        if not numbers and not names:
            return args, kwargs
        try:
            parameters = [name for name, parameter in inspect.signature(self.compiled).parameters.items()
                          if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        except (TypeError, ValueError):
            parameters = []
        numbers = {number % len(args) if number < 0 else number for number in numbers}
        all_numbers = numbers | {parameters.index(name) for name in names if name in parameters}
        all_names = set(names) | {parameters[number] for number in numbers if number < len(parameters)}
        return (tuple(value for number, value in enumerate(args) if number not in all_numbers),
                {name: value for name, value in kwargs.items() if name not in all_names})

    def _check(self, copy: Copy, results: list[Any], own: list[Any]) -> None:
        """Says once if the copy rounds otherwise."""
        difference = _difference(results, own)
        if difference:
            copy.rounds_otherwise = True
            _stderr.print_line(f"{self._name()} runs as it does without opdump; the copy of it that shows its modules rounds otherwise: its "
                               f"results differ by {difference:.1e} (relative L2)")

    def _name(self) -> str:
        return str(getattr(self.compiled, "__name__", "a compiled function"))


def _listed(value: Any) -> set[Any]:
    return set() if value is None else {value} if isinstance(value, (int, str)) else set(value)


def _values_of(tree: Any) -> Any:
    """The arguments of a function that runs at once, though it is differentiated; None if it is traced."""
    if isinstance(getattr(inner, "trace_ctx", None) and inner.trace_ctx.trace, _staging()):
        return None
    leaves, structure = jax.tree.flatten(tree)
    values = []
    for leaf in leaves:
        value = leaf
        while isinstance(value, inner.Tracer):
            if not hasattr(value, "primal"):
                return None
            value = value.primal
        values.append(value)
    return jax.tree.unflatten(structure, values)


def _staging() -> Any:
    from jax._src.interpreters import partial_eval

    return partial_eval.DynamicJaxprTrace


def _difference(results: list[Any], copies: list[Any]) -> float:
    """Relative L2, of all results together: one of them may be nothing but rounding, as the gradient of a weight without effect."""
    difference = size = 0.0
    for result, copy in zip(results, copies):
        if jax.dtypes.issubdtype(result.dtype, jax.dtypes.extended):
            continue
        a, b = np.asarray(result), np.asarray(copy)
        is_same = a.tobytes() == b.tobytes()
        a, b = a.astype(np.complex128), b.astype(np.complex128)
        size += float(np.sum(np.square(np.abs(a))))
        difference += 0.0 if is_same else float(np.sum(np.square(np.abs(a - b))))
    return float(np.sqrt(difference / (size or 1.0)))
