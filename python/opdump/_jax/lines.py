"""Which lines of the program call a module."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType
from typing import Any

from opdump._jax.sites import Line

_MOST_FRAMES = 64  # of a recursion the innermost ones say enough
_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "opdump")
_OF_PYTHON = ("contextlib.py", "functools.py", "threading.py", "dataclasses.py")


class Lines:
    def __init__(self) -> None:
        self._prefixes: tuple[str, ...] = ()
        self._directory = ""
        self._known: dict[CodeType, tuple[str, bool]] = {}

    def begin(self) -> None:
        """A recording begins."""
        packages = [getattr(sys.modules.get(name), "__file__", None) for name in _LIBRARIES]
        stdlib = sysconfig.get_path("stdlib")
        self._prefixes = (*(os.path.dirname(file) + os.sep for file in packages if file), *(os.path.join(stdlib, name) for name in _OF_PYTHON),
                          "<frozen", "<string>")
        self._directory = os.getcwd() + os.sep
        self._known.clear()

    def find(self) -> Line:
        """The innermost line of the program's own code; that of an installed package if there is none."""
        frame: Any = sys._getframe(1)
        found, has_own, stack = Line(), False, []
        while frame is not None and len(stack) < _MOST_FRAMES:
            file, is_own = self._describe(frame.f_code)
            if file:
                line = frame.f_lineno or 0
                if not found.file or (is_own and not has_own):
                    found = Line(file, line)
                has_own = has_own or is_own
                stack.append(f"{file}:{line}:{getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)}")
            frame = frame.f_back
        return found._replace(stack=tuple(stack))

    def _describe(self, code: CodeType) -> tuple[str, bool]:
        known = self._known.get(code)
        if known is None:
            file = code.co_filename
            is_own = "/site-packages/" not in file and "/dist-packages/" not in file
            known = self._known[code] = ("", False) if file.startswith(self._prefixes) else (file.removeprefix(self._directory), is_own)
        return known


lines = Lines()
