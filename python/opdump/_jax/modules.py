"""Calls of modules of flax.linen and flax.nnx: what each reads and returns goes to the recorder."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from opdump._frames import leave_no_frame
from opdump._jax.lines import lines
from opdump._jax.recording import Recording
from opdump._jax.sites import Call, Operand, Site, next_number
from opdump._jax.taps import bind

_SIMPLE = (bool, int, float, str)
# Settings that PyTorch calls otherwise, or means otherwise: `opdump compare` then says which one is another.
_IN_TORCH: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "epsilon": ("eps", lambda value: value), "momentum": ("momentum", lambda value: round(1 - value, 12))}
_MOST_DEEP = 32  # of lists in modules


class _Value:
    """An array that a module has read or made. JAX may look for arrays that outlive a function: it is not held."""

    def __init__(self, array: Any) -> None:
        self.reference = weakref.ref(array)
        self.number = next_number()
        self.is_made = False


class _Thread(threading.local):
    def __init__(self) -> None:
        self.modules: list[Any] = []  # that run, the outermost one first
        self.scopes: list[str] = []  # of these
        self.paths_of: list[tuple[str, ...] | None] = []  # of these
        self.is_in_function = False
        self.call: Call | None = None
        self.paths: dict[int, str] = {}  # of the modules of nnx below the outermost one
        self.values: dict[int, _Value] = {}  # arrays that modules have read or made, by address


class Modules:
    def __init__(self) -> None:
        self.find_recording: Callable[[], Recording | None] = lambda: None
        self._thread = _Thread()

    def call(self, module: Any, method: str, path: tuple[str, ...] | None, weights: Callable[[], Iterator[tuple[str, Any]]],
             settings: Callable[[], Iterator[tuple[str, Any]]], run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Runs a method of a module. `path` is that of the module below the outermost one, if the module knows it."""
        recording, mine = self.find_recording(), self._thread
        if recording is None or (mine.modules and (mine.modules[-1] is module or path == mine.paths_of[-1] is not None)):
            return run(*args, **kwargs)
        if not mine.modules:
            mine.call = Call(f"{type(module).__name__} {'; '.join(lines.find().stack[:8])}")
            if path is None:
                mine.paths = dict(_paths_below(module))
        mine.scopes.append(self._scope_of(module, path))
        mine.modules.append(module)
        mine.paths_of.append(path)
        before: list[Any] = []
        recording.guard("inputs of a module", lambda: before.extend(self._inputs(args, kwargs, weights)))
        try:
            result = run(*args, **kwargs)
            kind = type(module).__name__ if method == "__call__" else method
            recording.guard("results of a module", lambda: self._show(kind, before, result, tuple(settings())))
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            mine.modules.pop()
            mine.scopes.pop()
            mine.paths_of.pop()
            if not mine.modules:
                mine.call = None
                mine.paths, mine.values = {}, {}
        return result

    def call_function(self, kind: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Runs a function without weights, as an activation, that a module calls."""
        recording, mine = self.find_recording(), self._thread
        if recording is None or not mine.modules or mine.is_in_function:
            return run(*args, **kwargs)
        mine.is_in_function = True  # what it calls is its own
        before: list[Any] = []
        recording.guard("inputs of a function", lambda: before.extend(self._inputs(args, kwargs, lambda: iter(()))))
        try:
            result = run(*args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            mine.is_in_function = False
        recording.guard("results of a function", lambda: self._show(kind, before, result, ()))
        return result

    def _scope_of(self, module: Any, path: tuple[str, ...] | None) -> str:
        """"/Block_0-Block/Dense_1-Dense"; nothing for the outermost module."""
        mine = self._thread
        if path is None:
            return (mine.paths.get(id(module)) or f"{mine.scopes[-1]}/{type(module).__name__}") if mine.modules else ""
        scope, rest = "", path
        for around, outer in zip(mine.paths_of, mine.scopes):
            if around is not None and path[:len(around)] == around:
                scope, rest = outer, path[len(around):]
        return "/".join((scope, *rest[:-1], f"{rest[-1]}-{type(module).__name__}")) if rest else scope

    def scope(self) -> str:
        """Of the module that runs."""
        return self._thread.scopes[-1]

    def _value(self, array: Any) -> _Value:
        known = self._thread.values.get(id(array))
        if known is None or known.reference() is not array:
            known = self._thread.values[id(array)] = _Value(array)
        return known

    def _inputs(self, args: Any, kwargs: Any, weights: Callable[[], Iterator[tuple[str, Any]]]) -> Iterator[tuple[Any, Operand]]:
        arrays = [value for value in jax.tree.leaves((args, kwargs)) if _is_recordable(value)]
        for index, array in enumerate(arrays):
            yield array, Operand(False, index, self._value(array).number, None)
        for index, (name, array) in enumerate(weights(), len(arrays)):
            if _is_recordable(array):
                yield array, Operand(False, index, self._value(array).number, name, is_weight=True)

    def _show(self, kind: str, before: list[Any], result: Any, settings: tuple[tuple[str, Any], ...]) -> None:
        mine = self._thread
        arrays = [value for value in jax.tree.leaves(result) if _is_recordable(value)]
        if not arrays or all(self._value(array).is_made for array in arrays):  # a module within it has returned that
            return
        after = []
        for index, array in enumerate(arrays):
            after.append((array, Operand(True, index, self._value(array).number, None)))
            self._value(array).is_made = True
        site = Site(mine.scopes[-1], kind, tuple(operand for _, operand in (*before, *after)), settings, lines.find(), mine.call)
        bind([array for array, _ in (*before, *after)], site)


modules = Modules()


def _is_recordable(value: Any) -> bool:
    if isinstance(value, np.ndarray):  # JAX takes it as it is
        return value.dtype.kind in "biufc" and value.dtype == jax.dtypes.canonicalize_dtype(value.dtype)
    return isinstance(value, jax.Array) and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended)


# ---- flax.linen

def install_linen() -> None:
    """Once per process, when flax.linen is there."""
    linen: Any = sys.modules["flax.linen"]
    original = linen.Module._call_wrapped_method

    @functools.wraps(original)
    def called(self: Any, fun: Any, args: Any, kwargs: Any) -> Any:
        method = getattr(fun, "__name__", "")
        if method == "setup" or self.scope is None or self.is_initializing():
            return original(self, fun, args, kwargs)
        return modules.call(self, method, tuple(self.path), functools.partial(_weights_of, self), functools.partial(_settings_of, self),
                            lambda *args, **kwargs: original(self, fun, args, kwargs), args, kwargs)

    linen.Module._call_wrapped_method = called
    _watch_functions(linen)


def _weights_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Of the module itself, not of modules in it."""
    place, scope = ".".join(module.path), module.scope
    for collection in ("params", "batch_stats"):
        values = scope.root._variables.get(collection, {})
        for name in scope.path[len(scope.root.path):]:
            values = values.get(name, {})
        for name, value in sorted(values.items()):
            if not hasattr(value, "items"):  # else it is of a module in this one
                yield (f"{place}.{name}" if place else name), getattr(value, "value", value)


def _settings_of(module: Any) -> Iterator[tuple[str, Any]]:
    for name in getattr(type(module), "__dataclass_fields__", ()):
        value = getattr(module, name, None)
        if name not in ("parent", "name"):
            yield from _setting(name, value)


def _setting(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    is_simple = type(value) in _SIMPLE or (isinstance(value, tuple) and value and all(type(item) in _SIMPLE for item in value))
    if is_simple:
        own, convert = _IN_TORCH.get(name, (name, lambda value: value))
        yield own, convert(value)


# ---- flax.nnx

def install_nnx() -> None:
    """Once per process, when flax.nnx is there."""
    nnx: Any = sys.modules["flax.nnx"]
    begin = nnx.Module.__init_subclass__.__func__

    def begun(cls: Any, *args: Any, **kwargs: Any) -> None:
        begin(cls, *args, **kwargs)
        _watch_class(cls)

    nnx.Module.__init_subclass__ = classmethod(begun)
    waiting = [nnx.Module]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        _watch_class(cls)
    _watch_functions(nnx)


def _watch_class(cls: Any) -> None:
    original = cls.__dict__.get("__call__")
    if not callable(original) or getattr(original, "_opdump", False):
        return

    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        return modules.call(self, "__call__", None, functools.partial(_variables_of, self), functools.partial(_attributes_of, self),
                            functools.partial(original, self), args, kwargs)

    __call__._opdump = True  # type: ignore[attr-defined]
    cls.__call__ = __call__


def _parts_of(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What a module holds: modules and variables, by name; those in lists by their numbers, too."""
    nnx: Any = sys.modules["flax.nnx"]
    items = vars(value).items() if isinstance(value, nnx.Module) and type(value).__name__ not in ("List", "Dict") else \
        value.items() if hasattr(value, "items") else enumerate(value)
    for name, item in items:
        if isinstance(item, (nnx.Module, nnx.Variable)) and type(item).__name__ not in ("List", "Dict"):
            yield str(name), item
        elif depth < _MOST_DEEP and (isinstance(item, (list, tuple, dict)) or type(item).__name__ in ("List", "Dict")):
            for inner, part in _parts_of(item, depth + 1):
                yield f"{name}.{inner}", part


def _paths_below(module: Any, path: str = "") -> Iterator[tuple[int, str]]:
    nnx: Any = sys.modules["flax.nnx"]
    for name, part in _parts_of(module):
        if isinstance(part, nnx.Module):
            below = f"{path}/{name}-{type(part).__name__}"
            yield id(part), below
            if path.count("/") < _MOST_DEEP:
                yield from _paths_below(part, below)


def _variables_of(module: Any) -> Iterator[tuple[str, Any]]:
    nnx: Any = sys.modules["flax.nnx"]
    for name, part in _parts_of(module):
        if isinstance(part, nnx.Variable) and isinstance(part, (nnx.Param, nnx.BatchStat)):
            scope = [component.rpartition("-")[0] for component in modules.scope().split("/")[1:]]
            yield ".".join((*scope, name)), part[...]


def _attributes_of(module: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if not name.startswith("_"):
            yield from _setting(name, value)


# ---- functions without weights

def _watch_functions(owner: Any) -> None:
    """Activations, poolings and attention of a module `flax.linen` or `flax.nnx`, as programs call them."""
    for name, value in list(vars(owner).items()):
        home = getattr(value, "__module__", None) or ""
        if name[:1].islower() and callable(value) and not isinstance(value, type) and (
                home.startswith("jax._src.nn.functions") or home in ("flax.linen.pooling", "flax.linen.attention")):
            setattr(owner, name, _watched(value, name))


@functools.cache
def _watched(function: Any, name: str) -> Any:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return modules.call_function(name, function, args, kwargs)

    return called

