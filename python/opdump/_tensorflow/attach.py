"""Records TensorFlow: `attachment` starts and ends the recordings of this process. The recorder sees each kernel that the CPU
runs (adapters/tensorflow); here it is told which functions, sessions and optimizers run, and the names of operators that Python
runs one by one."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from opdump import _stderr
from opdump._frames import uncaught_exception
from opdump._stderr import print_line
from opdump._tensorflow import adapter, lines

FUNCTION, SESSION, OPTIMIZER = 0, 1, 2  # sections; see door.h
_EXISTING = {None: 0, "refuse": 1, "replace": 2, "append": 3, "original": 4}


class Attachment:
    """What this process knows of the recording under way."""

    def __init__(self) -> None:
        self._loaded: adapter.Library | None = None
        self._describer = adapter.Describer(self._describe)
        self._is_recording = False
        self._context_handle: Any = None  # the one that the recorder knows
        self._described: set[int] = set()  # graphs whose lines it knows
        self._failures: set[str] = set()
        self.gradients = threading.local()  # `scope`: of the gradient that Python computes

    def load(self) -> adapter.Library:
        """Loads the recorder and installs the hooks, once. Must come before the program's first operator."""
        if self._loaded is None:
            if context._context is not None and context._context._initialized:
                raise RuntimeError("TensorFlow has run an operator already: import opdump, or open the device, before the first one")
            self._loaded = adapter.Library()
            if (original := _stderr.kept()) >= 0:
                self._loaded.keep_stderr(original)
            self._loaded.set_describer(self._describer)
            from opdump._tensorflow import patches

            patches.install(runs_as_written=bool(os.environ.get("OPDUMP_GOLDEN")))
            atexit.register(self._stop_at_exit)
        return self._loaded

    @property
    def library(self) -> adapter.Library:
        return self.load()

    def start(self, config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
              mode: str | None = None, strict: bool = False, existing: str | None = None, process: str | None = None) -> None:
        """See opdump.start and opdump._torch.attach."""
        if self._is_recording:
            raise RuntimeError("a recording is in progress: stop it first")
        library = self.load()
        options = adapter.Options(
            size=ctypes.sizeof(adapter.Options), config_path=_encoded(config), config_text=_encoded(text),
            dialect=_encoded(dialect), mode=_encoded(mode), process=_encoded(process), strict=int(strict),
            existing=_EXISTING[existing], runtime=f"tensorflow {tf.__version__}".encode())
        self._described.clear()
        if status := library.start(ctypes.byref(options), _encoded(model_name or _program_name())):
            kinds: dict[int, type[Exception]] = {1: ValueError, 5: FileExistsError}
            raise kinds.get(status, RuntimeError)(library.last_error())
        self._is_recording, self._context_handle = True, None

    def stop(self, failure: BaseException | None = None) -> bool:
        """See opdump.stop."""
        if not self._is_recording:
            return True
        self._is_recording = False
        return self.library.stop(int(isinstance(failure, (Exception, KeyboardInterrupt)))) == 0

    def step(self) -> None:
        if self._is_recording:
            self.library.step()

    def is_recording(self) -> bool:
        return self._is_recording

    def active(self) -> bool:
        return self._is_recording and bool(self.library.is_active())

    def current_step(self) -> int:
        return self.library.current_step() if self._is_recording else 0

    def start_from_environment(self) -> None:
        """Starts with the configuration named by the environment. A wrong one ends the program before it begins."""
        process = sys.modules.get("multiprocessing.process")
        name = process.current_process().name if process else "MainProcess"
        try:
            self.start(None, process=None if name == "MainProcess" else name)
        except ValueError as error:
            print_line(str(error))
            raise SystemExit(2) from None

    def make_config(self, output: str, *, steps: str, ops: str | None, module: str | None, budget: str | None, tensors: bool,
                    statistics: bool) -> str:
        """The configuration for a request. Raises ValueError if one of its values is wrong."""
        return self.library.make_config(adapter.Request(
            size=ctypes.sizeof(adapter.Request), content=int(tensors) | int(statistics) << 1, output=_encoded(output),
            steps=_encoded(steps), ops=_encoded(ops), module=_encoded(module), budget=_encoded(budget)))

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
            self.library.describe(scope.encode(), _encoded(lines.relative(file)), line)
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
        if self._is_recording:
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

    def _stop_at_exit(self) -> None:
        self.stop(uncaught_exception())


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _program_name() -> str:
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None) or (sys.argv[0] if sys.argv else "")
    return os.path.splitext(os.path.basename(path))[0] or "program"


attachment = Attachment()
