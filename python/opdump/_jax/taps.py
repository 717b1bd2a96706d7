"""A primitive of JAX that shows arrays to the recorder. It has no result, and what JAX compiles for the program has nothing of it: only a
copy of a function that is compiled inside of `shown()` calls the recorder. Numbers of the program therefore stay what they are."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import debugging
from jax._src.interpreters import partial_eval
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from opdump._jax.sites import Operand, Site

Show = Callable[[Site, tuple[Any, ...]], None]


# They leave the elements of an array in their order.
_SAME_ORDER = ("reshape", "squeeze", "expand_dims", "copy", "copy_p")


class _Lowering(threading.local):
    """What this thread compiles."""

    def __init__(self) -> None:
        self.show: Show | None = None  # a copy of a function, for the recorder
        self.watched = 0  # a function whose calls are seen


class Taps:
    """What the primitive calls."""

    def __init__(self) -> None:
        self.run: Show = lambda site, arrays: None  # of a program that runs operators one by one
        self.miss: Callable[[], None] = lambda: None  # something is compiled whose calls are not seen
        self._lowering = _Lowering()

    @contextlib.contextmanager
    def shown(self, show: Show) -> Iterator[None]:
        """What is compiled here calls `show`, and nothing of the program."""
        outer, self._lowering.show = self._lowering.show, show
        try:
            yield
        finally:
            self._lowering.show = outer

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """What is compiled here is a function whose calls are seen."""
        self._lowering.watched += 1
        try:
            yield
        finally:
            self._lowering.watched -= 1

    def lower(self, context: Any, *arrays: Any, site: Site) -> Any:
        show = self._lowering.show
        if show is None:
            if not self._lowering.watched:
                self.miss()
            return []
        if not arrays:
            return []

        def call(*values: Any) -> tuple[()]:
            show(site, values)
            return ()

        return debugging.debug_callback_lowering(context, *arrays, effect=debugging.debug_effect, partitioned=False, callback=call)

    def silence(self, lower: Any) -> Any:
        """What the program prints by itself from compiled code, a copy does not print again."""

        @functools.wraps(lower)
        def lowered(*args: Any, **kwargs: Any) -> Any:
            return lower(*args, **kwargs) if self._lowering.show is None else []

        return lowered


taps = Taps()
tap_p = core.Primitive("opdump_tap")
tap_p.multiple_results = True


@tap_p.def_impl
def _run(*arrays: Any, site: Site) -> list[Any]:
    taps.run(site, arrays)
    return []


@tap_p.def_effectful_abstract_eval
def _describe(*_arrays: Any, site: Site) -> Any:
    return [], {debugging.debug_effect}  # so that what has no result stays where it is


def _run_batched(arrays: Any, axes: Any, *, site: Site) -> tuple[list[Any], list[Any]]:
    """All rows of jax.vmap at once; they are the first axis."""
    tap_p.bind(*(array if axis is None else jnp.moveaxis(array, axis, 0) for array, axis in zip(arrays, axes)), site=site)
    return [], []


def _run_with_tangents(arrays: Any, _tangents: Any, *, site: Site) -> tuple[list[Any], list[Any]]:
    return tap_p.bind(*arrays, site=site), []


def install() -> None:
    """Once per process."""
    batching.primitive_batchers[tap_p] = _run_batched
    ad.primitive_jvps[tap_p] = _run_with_tangents
    partial_eval.partial_eval_jaxpr_custom_rules[tap_p] = functools.partial(_keep_where_known, tap_p)
    mlir.register_lowering(tap_p, taps.lower)
    for name, lower in (("debug_callback_p", "debug_callback_lowering"), ("debug_print_p", "debug_print_lowering_rule")):
        if hasattr(debugging, name):
            for platform in ("cpu", "gpu", "tpu"):
                mlir.register_lowering(getattr(debugging, name), taps.silence(getattr(debugging, lower)), platform=platform)


def _keep_where_known(primitive: Any, saveable: Any, unknown: Any, known: Any, equation: Any) -> Any:
    """jax.checkpoint runs a function again in the backward pass: that shows nothing new."""
    if any(unknown):
        return debugging._debug_partial_eval_custom(saveable, unknown, known, equation, primitive)
    return equation, None, [], [], []


def operands_of(jaxpr: Any) -> dict[Site, tuple[Operand, ...]]:
    """All that a function shows, of the functions inside of it, too. An array that is another one in another shape has its number."""
    found: dict[Site, tuple[Operand, ...]] = {}
    seen: set[int] = set()
    waiting = [jaxpr]
    while waiting:
        value = waiting.pop()
        value = getattr(value, "jaxpr", value)  # of a closed one
        if isinstance(value, (list, tuple)):
            waiting += value
        elif hasattr(value, "eqns") and id(value) not in seen:
            seen.add(id(value))
            found.update(_operands_in(value))
            for equation in value.eqns:
                waiting += equation.params.values()
    return found


def _operands_in(jaxpr: Any) -> Iterator[tuple[Site, tuple[Operand, ...]]]:
    origins: dict[int, Any] = {}
    numbers: dict[int, int] = {}  # of what modules have returned
    for equation in jaxpr.eqns:
        if equation.primitive is tap_p:
            site = equation.params["site"]
            variables = [origins.get(id(variable), variable) for variable in equation.invars]
            yield site, tuple(operand._replace(value=numbers.get(id(variable), operand.value))
                              for operand, variable in zip(site.operands, variables))
            for operand, variable in zip(site.operands, variables):
                if operand.is_output:
                    numbers[id(variable)] = operand.value
        elif equation.primitive.name in _SAME_ORDER:
            origins[id(equation.outvars[0])] = origins.get(id(equation.invars[0]), equation.invars[0])


def is_clean() -> bool:
    """Whether nothing is traced or differentiated."""
    from jax._src import core as inner

    return inner.trace_state_clean()


def bind(arrays: list[Any], site: Site) -> None:
    tap_p.bind(*arrays, site=site)


def is_array(value: Any) -> bool:
    return isinstance(value, jax.Array)
