"""What the recorder is told beside the kernels that it sees: which functions, sessions and optimizers run, where the program is,
and the names of operators that Python runs one by one."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tensorflow.python.eager import context

from opdump import _stderr
from opdump._tensorflow import adapter, lines

FUNCTION, SESSION, OPTIMIZER = 0, 1, 2  # sections; see door.h


class Reporter:
    """What this process has told."""

    library: adapter.Library  # from open() on

    def __init__(self) -> None:
        self.is_recording = False
        self.gradients = threading.local()  # `scope`: of the gradient that Python computes
        self._describer = adapter.Describer(self._describe)
        self._context_handle: Any = None  # the one that the recorder knows
        self._described: set[int] = set()  # graphs whose lines it knows
        self._failures: set[str] = set()

    def open(self) -> None:
        """Loads the recorder. Must come before the program's first operator, and once."""
        if context._context is not None and context._context._initialized:
            raise RuntimeError("TensorFlow has run an operator already: import opdump, or open the device, before the first one")
        self.library = adapter.Library()
        if (original := _stderr.kept()) >= 0:
            self.library.keep_stderr(original)
        self.library.set_describer(self._describer)

    def forget(self) -> None:
        """Another recording knows nothing."""
        self._described.clear()
        self._context_handle = None

    @contextlib.contextmanager
    def nothing_reaches_the_program(self, what: str) -> Iterator[None]:
        """A failure of opdump is a loss, reported once."""
        try:
            yield
        except Exception as error:
            if what not in self._failures:
                self._failures.add(what)
                self.library.report_unseen(what.encode(), repr(error).encode())

    def _describe(self) -> None:
        """Called for each recorded operator that this thread runs directly."""
        try:
            self.report_context()
            file, line = lines.find_line()
            scope = getattr(self.gradients, "scope", "") or context.context().scope_name
            self.library.describe(scope.encode(), os.fsencode(lines.relative(file)), line)
        except KeyboardInterrupt:  # this function cannot raise it
            _thread.interrupt_main()
        except BaseException as error:
            self.library.report_unseen(b"names of operators", repr(error).encode())

    def report_context(self) -> None:
        handle = context.context()._context_handle
        if handle is None or handle is self._context_handle:
            return
        api = ctypes.pythonapi
        api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.library.set_context(api.PyCapsule_GetPointer(handle, api.PyCapsule_GetName(handle)))
        self._context_handle = handle

    @contextlib.contextmanager
    def section(self, section: int, what: str, unit: Callable[[], str]) -> Iterator[None]:
        """Reports that something runs. `unit` returns what a program repeats."""
        is_entered = False
        if self.is_recording:
            with self.nothing_reaches_the_program(what):
                self.library.enter(unit().encode("utf-8", "replace"), section)
                is_entered = True
        try:
            yield
        finally:
            if is_entered:
                self.library.leave(section)

    def report_lines_of(self, function: Any) -> None:
        if id(function) in self._described:
            return
        self._described.add(id(function))
        if function.graph is not None:
            lines.report_of_graph(self.library, function.graph)
        for child in function.children or ():
            self.report_lines_of(child)

    def add_optimizer(self, optimizer: Any) -> None:
        name = getattr(optimizer, "name", None) or getattr(optimizer, "_name", None)
        self.library.add_optimizer(None)
        if isinstance(name, str):
            for scope in (name, *(f"{name}_{number}" for number in range(1, 10))):  # a graph makes names of scopes unique
                self.library.add_optimizer(scope.encode())


reporter = Reporter()
