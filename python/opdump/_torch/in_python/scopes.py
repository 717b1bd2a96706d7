"""Names of operators, the same in every step and in every run: what adapters/torch/names.h is for the compiled recorder."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from opdump import _interface as c


class Source(NamedTuple):
    """A line of the program, and the calls that led there: "train.py:31:Net.forward", innermost first."""

    file: str = ""
    line: int = 0
    stack: tuple[str, ...] = ()
    in_model: bool = False  # right in the model: inside of its call, in no module of it


NOWHERE = Source()


class Occurrences:
    """The operators of a type in a scope."""

    def __init__(self) -> None:
        self.step_number = 0
        self.next = 0
        self.operators: list[tuple[Any, Source]] = []


class Scope:
    """A place in the program: a module call, an optimizer, the gradients of a module."""

    def __init__(self, path: str, phase: int = c.FORWARD) -> None:
        self.path, self.phase = path, phase
        self.gradients: Scope | None = None
        self.children: dict[str, Scope] = {}
        self.occurrences: dict[str, Occurrences] = {}


class Mark(threading.local):
    """What the operators that this thread defines are made of, besides their names."""

    name: str | None = None


mark = Mark()


class Names:
    """Thread-safe."""

    def __init__(self, session: Any, root: str, graph_id: int) -> None:
        self._session, self._graph_id = session, graph_id
        self._lock = threading.RLock()
        self.root = Scope(root)
        self._gradients = self.root.gradients = Scope("Gradients/" + root, c.BACKWARD)
        self._step_number = 1
        self._model_flag: bool | None = None

    def child(self, parent: Scope, component: str, phase: int = c.FORWARD) -> Scope:
        with self._lock:
            scope = parent.children.get(component)
            if scope is None:
                scope = parent.children[component] = Scope(f"{parent.path}/{component}", phase)
            return scope

    def descend(self, scope: Scope, path: str) -> Scope:
        for component in path.split("/") if path else ():
            scope = self.child(scope, component)
        return scope

    def gradients_of(self, forward: Scope) -> Scope:
        if forward.gradients is None:
            # Below the root the path repeats behind the prefix: "Gradients/Default" + "/conv1-Conv2d".
            forward.gradients = self.child(self._gradients, forward.path.removeprefix(self.root.path + "/"), c.BACKWARD)
        return forward.gradients

    def next_operator(self, scope: Scope, kind: str, find_source: Callable[[], Source]) -> tuple[Any, Source]:
        """The operator that runs now: the next one of its type in the scope."""
        with self._lock:
            seen = scope.occurrences.get(kind)
            if seen is None:
                seen = scope.occurrences[kind] = Occurrences()
            if seen.step_number != self._step_number:
                seen.step_number, seen.next = self._step_number, 0
            if seen.next < len(seen.operators):
                seen.next += 1
                return seen.operators[seen.next - 1]
        source = find_source()
        with self._lock:
            return self._define(scope, kind, seen, source)

    def flag_model(self, enabled: bool) -> None:
        """set_dump() for the model: for operators right in it, which share the root with what runs outside of it."""
        with self._lock:
            self._model_flag = enabled
            for scope in (self.root, self._gradients):
                for kind, seen in scope.occurrences.items():
                    for number, (_, source) in enumerate(seen.operators):
                        if source.in_model:
                            self._flag(_name_of(scope, kind, number))

    def begin_step(self) -> None:
        """From here on every scope counts from 0 again."""
        with self._lock:
            self._step_number += 1

    def _flag(self, name: str) -> None:
        c.set_dump(self._session, c.encode(name), (c.FLAG_ON if self._model_flag else 0) | c.FLAG_UNNAMED)

    def _define(self, scope: Scope, kind: str, seen: Occurrences, source: Source) -> tuple[Any, Source]:
        name = _name_of(scope, kind, len(seen.operators))
        if self._model_flag is not None and source.in_model:
            self._flag(name)
        frames = (ctypes.c_char_p * max(1, len(source.stack)))(*map(c.encode, source.stack))
        originals = (ctypes.c_char_p * 1)(c.encode(mark.name))
        info = c.OpInfo(phase=scope.phase, type=c.encode(kind), name=c.encode(name), source_file=c.encode(source.file) or None,
                        source_line=source.line, graph_id=self._graph_id, frames=frames if source.stack else None,
                        frame_count=len(source.stack), original_names=originals if mark.name else None,
                        original_count=1 if mark.name else 0)
        seen.operators.append((c.define(self._session, info), source))
        seen.next = len(seen.operators)
        return seen.operators[-1]


def _name_of(scope: Scope, kind: str, number: int) -> str:
    return f"{scope.path}/{kind}-op{number}"
