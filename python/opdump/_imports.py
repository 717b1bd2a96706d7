"""Calls functions when the program has imported a module, and keeps their failures from it.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

from __future__ import annotations

import os
import sys

from opdump._frames import leave_no_frame
from opdump._stderr import print_line

TYPE_CHECKING = False  # the module typing costs more than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Then = Callable[[], object]
    Around = Callable[[Callable[..., Any]], Callable[..., Any]]


class Finder:
    """Finds one module through the finders after it, and calls `then` when the module's body has run. `around` wraps what
    runs the body."""

    def __init__(self, name: str, then: Then, around: Around | None = None) -> None:
        self.name, self.then, self.around = name, then, around

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        finders = list(sys.meta_path)  # another thread may remove this one
        if self not in finders:
            return None
        after = finders[finders.index(self) + 1:]
        specs = (finder.find_spec(name, path, target) for finder in after if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = self.around(loader.exec_module) if self.around else loader.exec_module

        def exec_module(module: ModuleType) -> None:
            try:
                execute(module)
            except BaseException as error:
                if isinstance(error, Exception):
                    report_to_run("x")
                leave_no_frame(error)
                raise
            # Not before: a program may only ask whether there is such a module, or try again when its import fails.
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _run_safely(self.then)

        loader.exec_module = exec_module
        return spec


def _run_safely(then: Then) -> None:
    """Keeps failures of opdump out of the program's import. SystemExit propagates: the configuration is wrong."""
    try:
        then()
    except Exception as error:
        report_to_run("!")
        print_line(f"nothing is recorded: {error}")


def call_after(name: str, then: Then, around: Around | None = None) -> None:
    """Calls it after the import of the module, or at once if that is imported. `around` as of Finder."""
    if name in sys.modules:
        _run_safely(then)
    else:
        sys.meta_path.insert(0, Finder(name, then, around))


def report_to_run(marks: str) -> None:
    """Reports to `opdump run`: "+" a recording has begun, "-" it is on disk, "!" it could not begin and has said why, "x" an
    import that it waits for has failed, "m" the program imports MindSpore, which records itself."""
    if path := os.environ.get("OPDUMP_RUN_REPORT"):
        with open(path, "a", encoding="ascii") as report:
            report.write(marks)
