"""Which line of the user's code runs: what adapters/torch/python/python_frames.cc is for the compiled recorder."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any, NamedTuple

from opdump._torch.in_python.scopes import NOWHERE, Source

_MOST_FRAMES = 64  # of a recursion the innermost ones say enough


class _Function(NamedTuple):
    """A function of the program; without a file one of torch or the standard library."""

    file: str = ""
    name: str = ""
    is_own: bool = False  # not of an installed package, nor made by torch


class Frames:
    def __init__(self) -> None:
        self.library_prefixes: tuple[str, ...] = ()
        self.working_directory = ""
        self.cells: dict[str, str] = {}  # of a notebook: "In [3]", by what Python takes for their file
        self._known: dict[int, tuple[CodeType, _Function]] = {}  # by address: equal code of two files is equal to Python

    def find_line(self) -> Source:
        """The innermost line of the program's own code, helpers included; that of an installed package if there is none."""
        frame: Any = sys._getframe(1)
        source, has_own = NOWHERE, False
        stack: list[str] = []
        while frame is not None:
            function = self._function_of(frame.f_code)
            if function.file:
                line = frame.f_lineno or 0
                if not source.file or (function.is_own and not has_own):
                    source = Source(function.file, line)
                has_own = has_own or function.is_own
                if len(stack) < _MOST_FRAMES:
                    stack.append(f"{function.file}:{line}:{function.name}")
                elif has_own:
                    break
            frame = frame.f_back
        return source._replace(stack=tuple(stack))

    def find_place(self) -> int:
        """The instructions that the innermost frames of the user are at; 0 if there are none."""
        frame: Any = sys._getframe(1)
        place = []
        for _ in range(_MOST_FRAMES):
            if frame is None:
                break
            if self._function_of(frame.f_code).file:
                place.append((id(frame.f_code), frame.f_lasti))
            frame = frame.f_back
        return hash(tuple(place)) or 1 if place else 0

    def _function_of(self, code: CodeType) -> _Function:
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = code, self._describe(code)
        return known[1]

    def _describe(self, code: CodeType) -> _Function:
        file = code.co_filename
        if file.startswith(("<frozen", *self.library_prefixes)):
            return _Function()
        file = self.cells.get(file, file)
        is_own = "/site-packages/" not in file and "/dist-packages/" not in file and not file.startswith("<eval_with_key>")
        return _Function(file.removeprefix(self.working_directory), getattr(code, "co_qualname", code.co_name), is_own)


frames = Frames()
