"""Kernels of notebooks wait between cells, and are killed soon after they are asked to end. The code of a cell has a file of the
kernel's own, another one in each process, in place of which "In [3]" is recorded."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

from opdump._torch import recorder as hooks


def install(rest: Callable[[], None], stop: Callable[[], None]) -> None:
    """In a kernel, calls `rest()` after each cell, and `stop()` when the kernel is asked to end: Jupyter sends SIGTERM 2.5 s
    later, and a busy machine may need longer to get to the functions of atexit. Does nothing in other processes."""
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = find_shell() if find_shell else None
    kernel = getattr(shell, "kernel", None)
    if shell is None or kernel is None:
        return
    _name_cells(shell)
    shell.events.register("post_run_cell", lambda _result: rest())
    shut_down = kernel.do_shutdown

    @functools.wraps(shut_down)
    def stopping(*args: Any, **kwargs: Any) -> Any:
        stop()
        return shut_down(*args, **kwargs)

    kernel.do_shutdown = stopping  # what ipykernel provides for this


def _name_cells(shell: Any) -> None:
    compiler = shell.compile
    with contextlib.suppress(Exception):  # what has run already is named if this IPython keeps it as those of today do
        for number, raw in enumerate(shell.history_manager.input_hist_raw):
            hooks.name_cell(compiler.get_code_name(raw, shell.transform_cell(raw), number), f"In [{number}]")
    cache = compiler.cache

    @functools.wraps(cache)
    def named(code: str, number: int = 0, *args: Any, **kwargs: Any) -> str:
        name = cache(code, number, *args, **kwargs)
        hooks.name_cell(name, f"In [{number}]")
        return name

    compiler.cache = named
