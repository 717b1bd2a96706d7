"""Which module calls which: what adapters/torch/python/python_modules.cc is for the compiled recorder."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from opdump import _interface as c
from opdump._torch.in_python.observer import Observer, ScopeFrame
from opdump._torch.in_python.scopes import Scope


class _ModuleScope:
    def __init__(self, module: Any, scope: Scope) -> None:
        self.reference = weakref.ref(module)  # an address may be used again by another module
        self.scope = scope
        self.is_model = False
        self.rank = 0  # of an outermost module: the calls of those that rank highest are steps


class _Calls(threading.local):
    """Of a thread."""

    def __init__(self) -> None:
        self.recording: Observer | None = None
        self.frames: list[tuple[Any, Scope]] = []  # the modules it is inside of, with the scope each was given
        self.calls: list[tuple[bool, bool]] = []  # has a scope, is an execution; also while nothing is recorded


class Modules:
    def __init__(self) -> None:
        self.find_path: Callable[[Any, Any], str | None]
        self.name_root: Callable[[Any], tuple[str, int]]
        self.find_flag: Callable[[Any], bool | None]
        self._calls = _Calls()
        self._compiled: weakref.WeakSet[Any] = weakref.WeakSet()
        self.clear()

    def clear(self) -> None:
        """A recording begins: the names that modules had belong to none."""
        self._known: dict[tuple[int, int], _ModuleScope] = {}
        # Which outermost modules count, and which of these the current step has called; addresses only.
        self._step, self._rank = -1, -1
        self._counted: dict[int, weakref.ref[Any]] = {}  # by id, which another module may have when one is gone

    def note_compiled(self, module: Any) -> None:
        self._compiled.add(module)

    def enter(self, observer: Observer | None, module: Any) -> bool:
        """True if the call is one of a model, in a recorded step: its tensors want names."""
        mine = self._calls
        scope, wants_names, is_execution = None, False, False
        if observer is not None:
            with observer.guarded():
                self._join(observer)
                if observer.only_executions:
                    is_execution = module in self._compiled
                    if is_execution:
                        observer.enter_execution()
                    if observer.sees_thread():
                        wants_names = is_execution and self._scope_of(observer, module).is_model
                elif not mine.calls:
                    observer.join_thread()
                    known = self._scope_of(observer, module)
                    wants_names = known.is_model
                    self._enter_outermost(observer, known, module)
                if observer.is_active and observer.sees_thread():
                    scope = self._scope_of(observer, module).scope
                    mine.frames.append((module, scope))
                    observer.push(ScopeFrame(scope))
        mine.calls.append((scope is not None, is_execution))
        return wants_names and scope is not None

    def leave(self, observer: Observer | None) -> None:
        mine = self._calls
        if not mine.calls:
            return
        has_scope, is_execution = mine.calls.pop()
        if has_scope and mine.frames:
            mine.frames.pop()
        if observer is None:
            return
        if has_scope:
            observer.pop()
        if is_execution:
            observer.leave_execution()
        if not mine.calls:
            observer.leave_call()

    def flag(self, observer: Observer | None, module: Any) -> None:
        """A module that has a name already is flagged under it; any other gets its flag with its name."""
        for known in list(self._known.values()):
            if observer is not None and known.reference() is module:
                self._flag_scope(observer, known.scope, module)

    def _join(self, observer: Observer) -> None:
        """Begins anew with each recording: what is under way belongs to none."""
        mine = self._calls
        if mine.recording is not observer:
            mine.recording = observer
            mine.frames.clear()
            mine.calls = [(False, False)] * len(mine.calls)
            observer.join_thread()

    def _scope_of(self, observer: Observer, module: Any) -> _ModuleScope:
        parent = observer.module_scope() if self._calls.frames else None
        key = (id(parent) if parent is not None else 0, id(module))
        known = self._known.get(key)
        if known is None or known.reference() is not module:
            known = self._known[key] = self._name(observer, parent, module)
            self._flag_scope(observer, known.scope, module)
        return known

    def _name(self, observer: Observer, parent: Scope | None, module: Any) -> _ModuleScope:
        names = observer.names
        known = _ModuleScope(module, parent or names.root)
        if parent is None:
            text, known.rank = self.name_root(module)
            known.is_model = not text
            known.scope = names.descend(known.scope, text)
            return known
        for ancestor, scope in reversed(self._calls.frames):
            path = self.find_path(ancestor, module)
            if path is not None:
                known.scope = names.descend(scope, path)
                return known
        known.scope = names.descend(parent, type(module).__name__)
        return known

    def _flag_scope(self, observer: Observer, scope: Scope, module: Any) -> None:
        """Hands on what set_dump() said of a module, or of the innermost one around it of which it said something."""
        flag = self.find_flag(module)
        for around, _ in reversed(self._calls.frames):
            if flag is None:
                flag = self.find_flag(around)
        if flag is None:
            return
        if scope is observer.names.root:
            observer.names.flag_model(flag)
        else:
            c.set_dump(observer.session, c.encode(scope.path), (c.FLAG_ON if flag else 0) | c.FLAG_UNNAMED)

    def _enter_outermost(self, observer: Observer, known: _ModuleScope, module: Any) -> None:
        if known.rank > self._rank:
            self._counted.clear()
        self._rank = max(self._rank, known.rank)
        if known.rank < self._rank:
            observer.enter_call(False, False, False)
            return
        if self._step != observer.step:
            self._counted.clear()
        trains = getattr(module, "training", False) is True and torch.is_grad_enabled()
        called = self._counted.get(id(module))
        observer.enter_call(True, called is not None and called() is module, trains)
        if self._step != observer.step:  # the call began a step
            self._counted.clear()
        self._step = observer.step
        self._counted[id(module)] = weakref.ref(module)


modules = Modules()
