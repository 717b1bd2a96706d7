"""The tracebacks of the program: ours are not in them, and they say what ended it.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # the module typing costs more than all the rest
if TYPE_CHECKING:
    from types import FrameType


def leave_no_frame(error: BaseException) -> None:
    """Removes the calling function from the traceback of `error`. The caller then raises it again by a bare `raise`, which
    adds nothing to it since Python 3.11."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def uncaught_exception() -> BaseException | None:
    """The last one that Python printed, or None. Its traceback begins with the outermost frame, unlike that of an exception
    that pytest or a notebook kept as the last one before the program went on."""
    error = getattr(sys, "last_value", None)
    trace = getattr(error, "__traceback__", None)
    return error if trace is None or _is_outermost(trace.tb_frame) else None


def describe_failure(error: BaseException) -> str:
    """"ValueError: the first line of its text", or its type alone."""
    lines = str(error).splitlines()
    return type(error).__name__ + (f": {lines[0][:200]}" if lines else "")


def _is_outermost(frame: FrameType) -> bool:
    """Generators and coroutines that wait have no caller either."""
    return frame.f_back is None and not frame.f_code.co_flags & _GENERATORS


_GENERATORS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR of `inspect`, which is slow to import
