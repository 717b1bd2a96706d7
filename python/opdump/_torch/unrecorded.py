"""Functions whose operators are not recorded, and functions of ours that torch calls in place of its own."""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from opdump._frames import leave_no_frame
from opdump._torch import recorder as hooks

_in_place_of_torch: set[types.CodeType] = set()


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where torch calls it while a compiler waits for functions of the program, as compiled autograd does, the compiler leaves
    it alone, as it does what torch calls of its own. In functions that it compiles it sees it as before."""
    _in_place_of_torch.add(function.__code__)
    if "torch._dynamo.eval_frame" in sys.modules:
        leave_to_python()
    return function


def leave_to_python() -> None:
    """Calls of functions that are `uncompiled`, as soon as torch._dynamo is there."""
    skip = getattr(sys.modules["torch._dynamo.eval_frame"], "skip_code", None)
    while skip and _in_place_of_torch:
        skip(_in_place_of_torch.pop())


uncompiled(leave_no_frame)

try:
    from torch._C._dynamo.eval_frame import set_eval_frame as _set_compiler
except ImportError:  # torch 1.13 has none
    _set_compiler = None


def out_of_sight(function: Callable[..., Any]) -> Callable[..., Any]:
    """Functions of ours that run between two compiled parts of a module: a compiler that waits there would compile them, too."""
    set_compiler = _set_compiler
    if set_compiler is None:
        return function

    @uncompiled
    @functools.wraps(function)
    def run(*args: Any) -> Any:
        compiler = set_compiler(None)
        try:
            return function(*args)
        finally:
            set_compiler(compiler)

    return run


def unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @uncompiled
    @functools.wraps(function)
    def paused(*args: Any, **kwargs: Any) -> Any:
        hooks.pause()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            hooks.resume()

    return paused


@contextlib.contextmanager
def nothing_reaches_the_program(what: str) -> Iterator[None]:
    """A failure of opdump is a loss, reported once; it never reaches the program. The program's modes and subclasses do
    not see the work done here."""
    hooks.hide()
    try:
        yield
    except Exception as error:
        hooks.report_unseen(what, repr(error))
    finally:
        hooks.unhide()
