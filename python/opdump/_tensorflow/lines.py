"""The lines of the program: where it made the nodes of a graph, and where it is."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

import tensorflow as tf

from opdump._tensorflow.adapter import Library


def _library_prefixes() -> tuple[str, ...]:
    prefixes = [os.path.dirname(tf.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    packages = os.path.dirname(os.path.dirname(tf.__file__))
    prefixes += [os.path.join(packages, name) for name in ("keras", "tf_keras", "tensorflow_estimator")]
    stdlib = sysconfig.get_path("stdlib")
    prefixes += [os.path.join(stdlib, name) for name in ("contextlib.py", "functools.py", "ctypes", "threading.py")]
    return tuple(prefix if prefix.endswith(".py") else prefix + os.sep for prefix in prefixes)


_PREFIXES = _library_prefixes()


def _is_of_program(file: str) -> bool:
    return not file.startswith(_PREFIXES) and not file.startswith("<")


def find_line() -> tuple[str, int]:
    """The innermost line outside of libraries that this thread is at."""
    frame = sys._getframe()
    while frame is not None:
        if _is_of_program(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def report_of_graph(library: Library, graph: Any) -> None:
    """Reports where the program made the nodes of a graph, once for each node."""
    known = getattr(graph, "_opdump_lines", 0)
    operations = graph.get_operations()
    for operation in operations[known:]:
        for frame in reversed(list(operation.traceback or ())):
            if _is_of_program(frame.filename):
                library.add_source(operation.name.encode(), os.fsencode(relative(frame.filename)), frame.lineno)
                break
    graph._opdump_lines = len(operations)


def relative(file: str) -> str:
    """The program's files without its directory, as their lines are shown for torch."""
    prefix = os.getcwd() + os.sep
    return file.removeprefix(prefix)
