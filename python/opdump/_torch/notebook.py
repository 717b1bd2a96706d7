"""Kernels of notebooks wait between cells, and are killed soon after they are asked to end."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any


def install(rest: Callable[[], None], stop: Callable[[], None]) -> None:
    """In a kernel, calls `rest()` after each cell, and `stop()` when the kernel is asked to end: Jupyter sends SIGTERM 2.5 s
    later, and a busy machine may need longer to get to the functions of atexit. Does nothing in other processes."""
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = find_shell() if find_shell else None
    kernel = getattr(shell, "kernel", None)
    if shell is None or kernel is None:
        return
    shell.events.register("post_run_cell", lambda _result: rest())
    shut_down = kernel.do_shutdown

    @functools.wraps(shut_down)
    def stopping(*args: Any, **kwargs: Any) -> Any:
        stop()
        return shut_down(*args, **kwargs)

    kernel.do_shutdown = stopping  # what ipykernel provides for this
