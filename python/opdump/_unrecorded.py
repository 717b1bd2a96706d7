"""Functions whose operators are not recorded, and functions that torch is not to compile."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opdump import _torch as hooks
from opdump._frames import leave_no_frame

_PACKAGE = os.path.dirname(__file__) + os.sep


def leave_to_python() -> None:
    """To be called when torch._dynamo is there. While it waits for functions of the program, it would also compile those of this
    package that torch calls by themselves, as it does with compiled autograd. In functions that it compiles it sees them as before."""
    skip = getattr(sys.modules["torch._dynamo.eval_frame"], "skip_code", None)
    if not skip:
        return
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == __package__:
            for code in _codes_of(vars(module).values()):
                skip(code)


def _codes_of(values: Iterable[Any]) -> Iterator[types.CodeType]:
    """Of this package's functions among `values`, and of those within them."""
    for value in values:
        if isinstance(value, type) and value.__module__.startswith(__package__):
            yield from _codes_of(vars(value).values())
            continue
        code = value if isinstance(value, types.CodeType) else getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
        if isinstance(code, types.CodeType) and code.co_filename.startswith(_PACKAGE):
            yield code
            yield from _codes_of(code.co_consts)


def unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
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
