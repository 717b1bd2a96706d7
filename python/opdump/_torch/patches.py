"""What takes the place of functions of torch: it tells the recorder of modules, of backward passes, of threads, and of memory
that leaves torch or changes without an operator."""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from opdump._frames import leave_no_frame
from opdump._imports import call_after
from opdump._torch import recorder as hooks
from opdump._torch import shards, spikes
from opdump._torch.names import Names, storage_of
from opdump._torch.optimizers import optimizers
from opdump._torch.unrecorded import nothing_reaches_the_program, uncompiled

# Functions that expose the memory of a tensor without an operator.
_EXPORTS = ("numpy", "data_ptr", "storage", "untyped_storage", "_storage", "_typed_storage", "__dlpack__")

# Methods of storages that write to it.
_FILLS = ("_set_from_file", "byteswap", "_byteswap", "__setitem__")

Function = Callable[..., Any]


def install(names: Names) -> None:
    """Once per process."""
    torch.nn.Module.__call__ = _tell_calls(torch.nn.Module.__call__, names)
    for name in ("backward", "grad"):
        setattr(torch.autograd, name, _report_backward(getattr(torch.autograd, name)))
    torch.optim.Optimizer.__init__ = _note_optimizers(torch.optim.Optimizer.__init__)
    _find_optimizers()
    _hide_key_from_python()
    thread: Any = threading.Thread
    thread._bootstrap_inner = _join(thread._bootstrap_inner)
    for name in _EXPORTS:
        if hasattr(torch.Tensor, name):
            setattr(torch.Tensor, name, _settle_first(getattr(torch.Tensor, name)))
    storage = getattr(torch, "UntypedStorage", None) or getattr(torch, "_UntypedStorage", None)
    for name in _FILLS:
        if hasattr(storage, name):
            setattr(storage, name, _settle_and_note(getattr(storage, name)))
    for name in ("__init__", "resize_"):
        setattr(storage, name, _note_allocation(getattr(storage, name)))
    call_after("torch.distributed.device_mesh", _note_meshes)


def watch_indexing() -> None:
    """Once per process, and only if the configuration needs it, because it slows indexing down."""
    for name in ("__getitem__", "__setitem__"):
        setattr(torch.Tensor, name, _report_failure(getattr(torch.Tensor, name), name.strip("_")))


def _is_never_compiling() -> bool:
    return False


# Whether a compiler traces the caller: it puts True in place of the call. What we wrap must look to it as it is without us.
is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _is_never_compiling)


def _tell_calls(call: Function, names: Names) -> Function:
    """A Python function, not a faster one in C, because programs treat Module.__call__ as one: torch.fx removes it from
    the class and restores it, others read its signature."""
    enter, leave = hooks.enter_module, hooks.leave_module

    @uncompiled  # by itself: where a compiler gives up in the module, the call would be compiled without its name
    @functools.wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return call(self, *args, **kwargs)
        wants_names = enter(self)
        try:
            if wants_names:
                names.name_tensors(self, args, kwargs)
            return call(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            leave()

    return __call__


def _report_backward(function: Function) -> Function:
    """Operators that such a function runs before the backward pass itself belong to the pass, too."""
    enter, leave = hooks.enter_backward, hooks.leave_backward

    @uncompiled
    @functools.wraps(function)
    def reported(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(*args, **kwargs)
        spikes.note_backward(args)
        enter()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            leave()

    return reported


def _settle_first(function: Function) -> Function:
    @uncompiled
    @functools.wraps(function)
    def settled(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_compiling() and hooks.active():
            hooks.hide()
            try:
                hooks.settle(storage_of(self)._cdata)
            except Exception:  # no storage: a sparse or wrapped tensor
                pass
            finally:
                hooks.unhide()
        try:
            return function(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise

    return settled


def _settle_and_note(function: Function) -> Function:
    """Wraps a method of a storage that fills its memory without an operator, as torch.load does."""

    @uncompiled
    @functools.wraps(function)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(self, *args, **kwargs)
        if hooks.active():
            hooks.settle(self._cdata)
        try:
            return function(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            hooks.written(self._cdata)

    return noted


def _note_allocation(function: Function) -> Function:
    """Wraps what gives an empty storage of so many bytes memory without an operator: its constructor and its resize_()."""

    @uncompiled
    @functools.wraps(function)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or not hooks.active():
            return function(self, *args, **kwargs)
        was_empty = function.__name__ == "__init__" or self.nbytes() == 0
        try:
            result = function(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        sizes = [*args, *kwargs.values()]
        if was_empty and sizes and isinstance(sizes[0], int) and self.device.type == "cpu":
            hooks.allocated(self._cdata)
        return result

    return noted


def _report_failure(function: Function, type_name: str) -> Function:
    """Reports failed indexing, because torch checks indices before it runs any operator."""

    @uncompiled
    @functools.wraps(function)
    def reported(self: Any, index: Any, *value: Any) -> Any:
        if is_compiling():
            return function(self, index, *value)
        failures = hooks.failures()
        try:
            return function(self, index, *value)
        except Exception as error:
            leave_no_frame(error)
            if hooks.keeps_failures() and hooks.failures() == failures:
                _save_failure(type_name, (self, *(index if isinstance(index, tuple) else (index,)), *value))
            raise

    return reported


def _save_failure(type_name: str, values: tuple[Any, ...]) -> None:
    try:
        torch.ops.opdump_torch.add_failure(type_name, [v for v in values if isinstance(v, torch.Tensor)])
    except Exception as error:  # the error that reaches the program is its own
        hooks.report_unseen(f"the inputs of {type_name}", repr(error))


def _note_optimizers(init: Function) -> Function:
    @functools.wraps(init)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            init(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        with nothing_reaches_the_program("the state of an optimizer"):
            optimizers.add(self)

    return noted


def _find_optimizers() -> None:
    """The objects that existed before the hooks. Uses type(): isinstance may run code of an object."""
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.optim.Optimizer):
            optimizers.add(thing)


def _join(bootstrap: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(bootstrap)
    def joined(self: threading.Thread) -> None:
        hooks.join_thread()
        bootstrap(self)

    return joined


def _hide_key_from_python() -> None:
    """Higher-order operators (cond, flex_attention) look up their kernels in Python, and have none for our dispatch key."""
    compute = getattr(torch._ops, "_compute_keyset", None)
    if compute is None or not hasattr(torch._C.DispatchKeySet, "remove"):  # before torch 2.0
        return
    key = torch._C._dispatch_key_parse("Fake")
    torch._ops._compute_keyset = lambda *arguments: compute(*arguments).remove(key)


def _note_meshes() -> None:
    mesh = sys.modules["torch.distributed.device_mesh"].DeviceMesh
    mesh.__init__ = shards.note_meshes(mesh.__init__)
