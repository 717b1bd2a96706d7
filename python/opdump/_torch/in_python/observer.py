"""One recording of this process: what adapters/torch/observer.h is for the compiled recorder, which explains steps and scopes."""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from opdump import _interface as c
from opdump._torch.in_python.contents import Contents, storages_in
from opdump._torch.in_python.frames import frames
from opdump._torch.in_python.kinds import Kind, kind_of, values_of
from opdump._torch.in_python.operands import VIEW, Arguments, Operands
from opdump._torch.in_python.scopes import NOWHERE, Names, Scope, Source

KEY = torch._C._dispatch_key_parse("Fake")
_MOST_PLACES = 1 << 16  # more than any program has; one that makes code as it runs must not fill memory
_MOST_LOCATIONS = 1 << 16  # nodes that wait longer for their backward pass count as gradients of the root

set_included = torch._C._dispatch_tls_set_dispatch_key_included
set_excluded = torch._C._dispatch_tls_set_dispatch_key_excluded
_current_node = torch._C._current_autograd_node
_current_pass = torch._C._current_graph_task_id
peek_sequence_number = torch.autograd._get_sequence_nr
unseen_by_modes = torch._C.DisableTorchFunction  # what is asked of tensors is ours


class Clock(enum.IntEnum):
    """Who counts the steps; a later one replaces an earlier one when it ends its first step."""

    BACKWARD_PASSES = 0
    MODEL_CALLS = 1
    OPTIMIZERS = 2
    EXPLICIT_CALLS = 3


class ScopeFrame(NamedTuple):
    scope: Scope
    source: Source = NOWHERE  # of backward nodes: the line of the forward operator
    backward: bool = False


class ThreadState(threading.local):
    """What a thread of the program is doing."""

    def __init__(self) -> None:
        self.recording: Observer | None = None  # that the rest is about
        self.pauses = 0
        self.backward_calls = 0  # of backward() and grad() that this thread is inside of, recorded or not
        self.begin(None)

    def begin(self, recording: Observer | None) -> None:
        self.recording = recording
        self.stack: list[ScopeFrame] = []
        self.node: Any = None  # of autograd, that runs
        self.node_frame: ScopeFrame | None = None
        self.node_depth = 0  # of `stack` when it began
        self.last_backward: ScopeFrame | None = None  # of the node that ran last: sums of gradients come between nodes
        self.begun: ScopeFrame | None = None  # the same, where nodes have hooks: also of one without operators
        self.sequence_number = peek_sequence_number() if recording else 0
        self.is_in_model = False  # in a call that counts
        self.executions = 0  # of compiled models


state_of_thread = ThreadState()


class Rounds:
    """Knows when the loop that calls a model comes round. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: set[int] = set()
        self._preparations: set[int] = set()
        self._followers: set[int] = set()
        self._since_call: set[int] = set()

    def note_operator(self, place: int, is_called: bool) -> bool:
        """An operator outside of the model's calls. True if it begins a round; `is_called`: there was a call in this one."""
        with self._lock:
            begins = is_called and place in self._preparations
            if begins:
                if len(self._followers) < _MOST_PLACES:
                    self._followers |= self._since_call
                self._since_call.clear()
            if len(self._since_call) < _MOST_PLACES:
                self._since_call.add(place)
            return begins

    def note_call(self, place: int) -> None:
        """The first call of a round."""
        with self._lock:
            if len(self._calls) < _MOST_PLACES and place not in self._calls:
                self._calls.add(place)
                if len(self._preparations) < _MOST_PLACES:
                    self._preparations |= self._since_call - self._followers
            self._since_call.clear()


class Observer:
    def __init__(self, session: Any, root: str, first_step: int, graph_id: int, only_executions: bool,
                 steps_optimizer: Callable[[], bool], dumps_views: bool) -> None:
        self.session, self.only_executions = session, only_executions
        self.names, self.contents = Names(session, root, graph_id), Contents()
        self.devices: set[str] = set()
        self.is_active = False
        self.step = first_step
        self._steps_optimizer, self._dumps_views = steps_optimizer, dumps_views
        self._keeps_failures = bool(c.keeps_failures(session))
        self._clock = Clock.EXPLICIT_CALLS if only_executions else Clock.BACKWARD_PASSES
        self._ended_steps = 0
        self._has_executed = False
        self._caller: int | None = None  # the thread that calls the model
        self._rounds = Rounds()
        self._locations: collections.OrderedDict[tuple[int, int], tuple[Scope, Source]] = collections.OrderedDict()
        self._begin_step(first_step)

    # ---- steps

    @property
    def is_watching(self) -> bool:
        """Whether operators have to be seen: some clocks know by them when the next step begins."""
        return self.is_active or self._clock <= Clock.MODEL_CALLS

    def sees_thread(self) -> bool:
        return not self.only_executions or self.thread().executions > 0

    def thread(self) -> ThreadState:
        """Begins anew with each recording: scopes and numbers of the one before mean nothing to it."""
        if state_of_thread.recording is not self:
            state_of_thread.begin(self)
        return state_of_thread

    def join_thread(self) -> None:
        self.thread()
        set_included(KEY, self.is_watching)

    def tick(self, clock: Clock) -> None:
        if self.only_executions:
            return
        self._count_by(clock)
        if self._clock == clock:
            self._ended_steps += 1
            self._begin_step(self.step + 1)

    def open_step(self) -> int:
        """What the step under way is if the recording ends now."""
        if self._ended_steps == 0 or self.only_executions:
            return c.STEP_WHOLE
        if self._clock == Clock.MODEL_CALLS:
            return c.STEP_WHOLE if self._model_called else c.STEP_TAIL
        if self._clock == Clock.BACKWARD_PASSES:
            return c.STEP_WHOLE if self._backward_seen else c.STEP_TAIL
        return c.STEP_TAIL

    def _begin_step(self, step: int) -> None:
        was_active, self.step = self.is_active, step
        active = c.set_step(self.session, step) != 0
        self.names.begin_step()
        self._backward_seen = self._model_called = self._trains = False
        if active and not was_active:
            self.contents.clear()  # writes were not observed
        self.is_active = active
        set_included(KEY, self.is_watching)

    def _count_by(self, clock: Clock) -> None:
        if clock > self._clock:
            self._clock = clock
            if not self.is_watching:
                set_included(KEY, False)

    def _waits_for_optimizer(self) -> bool:
        """Before the first Optimizer.step nobody knows how many calls of the model it takes."""
        return (self._trains or self._backward_seen) and self._steps_optimizer()

    def enter_call(self, counts: bool, repeats: bool, trains: bool) -> None:
        """A module that no other module called is called."""
        thread = self.thread()
        if self._clock > Clock.MODEL_CALLS or thread.stack or thread.backward_calls > 0:
            return
        if not counts:  # before it runs anything
            self._note_pass(ScopeFrame(self.names.root))
            return
        self._count_by(Clock.MODEL_CALLS)
        self._caller = threading.get_ident()
        if self._model_called and repeats and not self._waits_for_optimizer():
            self.tick(Clock.MODEL_CALLS)
        if not self._model_called:
            self._rounds.note_call(frames.find_place())
        thread.is_in_model = self._model_called = True
        self._trains = self._trains or trains

    def leave_call(self) -> None:
        self.thread().is_in_model = False

    def enter_execution(self) -> None:
        thread = self.thread()
        thread.executions += 1
        if thread.executions > 1 or not self.only_executions:
            return
        if self._has_executed:
            self._begin_step(self.step + 1)
        self._has_executed = True
        thread.sequence_number = peek_sequence_number()

    def leave_execution(self) -> None:
        thread = self.thread()
        thread.executions = max(0, thread.executions - 1)

    def enter_optimizer(self, component: str) -> None:
        self.thread().stack.append(ScopeFrame(self.names.child(self.names.root, component, c.OPTIMIZER)))

    def leave_optimizer(self, is_step: bool) -> None:
        self.pop()
        if is_step:
            self.tick(Clock.OPTIMIZERS)

    def begins_recorded_step(self) -> bool:
        """For an operator of a step that is not recorded: it may begin the next step. True if it is to be recorded."""
        if self._clock > Clock.MODEL_CALLS:
            return False
        self._note_pass(self._locate())
        if not self.is_active:
            self.thread().sequence_number = peek_sequence_number()
        return self.is_active

    # ---- scopes

    def push(self, frame: ScopeFrame) -> None:
        self._sync_node(self.thread())
        state_of_thread.stack.append(frame)

    def pop(self) -> None:
        if self.thread().stack:
            state_of_thread.stack.pop()

    def module_scope(self) -> Scope | None:
        """The innermost scope of this thread that a module call can nest in: inside an optimizer or a backward pass it begins anew."""
        top = self._top(self.thread())
        return None if top is None or top.backward or top.scope.phase != c.FORWARD else top.scope

    def current_scope(self) -> Scope:
        return self._locate().scope

    def _top(self, thread: ThreadState) -> ScopeFrame | None:
        self._sync_node(thread)
        if thread.node_frame is not None and len(thread.stack) <= thread.node_depth:
            return thread.node_frame
        return thread.stack[-1] if thread.stack else None

    def _sync_node(self, thread: ThreadState) -> None:
        """Which node of autograd runs now: torch tells nobody when one begins."""
        node = _current_node()
        if node is thread.node:
            return
        if thread.node_frame is not None:
            thread.last_backward = thread.node_frame
        thread.node, thread.node_frame = node, None
        if node is None:
            return
        if not self._backward_seen:
            self._backward_seen = True
            if self._clock == Clock.BACKWARD_PASSES:
                self._rounds.note_call(0)
        thread.node_depth = len(thread.stack)
        thread.node_frame = self._frame_of(node)

    def watch_nodes(self, outputs: Any) -> list[Any]:
        """Hooks on the nodes of a backward pass that is about to begin from these tensors, to be removed after it."""
        nodes = [output.grad_fn for output in outputs if isinstance(output, torch.Tensor) and output.grad_fn is not None]
        seen, hooks = set(nodes), []
        while nodes:
            node = nodes.pop()
            hooks.append(node.register_prehook(functools.partial(self._note_node, self._frame_of(node))))
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    nodes.append(following)
        return hooks

    def _note_node(self, frame: ScopeFrame, _gradients: Any) -> None:
        self.thread().begun = frame

    def _frame_of(self, node: Any) -> ScopeFrame:
        number = node._sequence_nr()
        location = self._locations.get((threading.get_ident(), number)) or self._locations.get((self._caller or 0, number))
        if location is not None:
            return ScopeFrame(self.names.gradients_of(location[0]), location[1], True)
        gradients = self.names.gradients_of(self.names.root)
        if "AccumulateGrad" in node.name():
            return ScopeFrame(self.names.child(gradients, "AccumulateGrad", c.BACKWARD), NOWHERE, True)
        return ScopeFrame(gradients, NOWHERE, True)

    def _locate(self) -> ScopeFrame:
        thread = self.thread()
        top = self._top(thread)
        if top is not None and top.backward:
            return top
        if thread.backward_calls > 0 or _current_pass() >= 0:
            return thread.begun or thread.last_backward or ScopeFrame(self.names.gradients_of(self.names.root), NOWHERE, True)
        thread.last_backward = thread.begun = None
        return top or ScopeFrame(self.names.root)

    def _find_source(self, location: ScopeFrame) -> Source:
        if location.source.file:
            return location.source
        stack = self.thread().stack
        in_model = location.source.in_model if location.backward else bool(stack) and stack[-1].scope is self.names.root
        return frames.find_line()._replace(in_model=in_model)

    def _note_pass(self, location: ScopeFrame) -> None:
        """In a program whose steps are only known by its calls and passes an operator may begin the next one."""
        if self._clock > Clock.MODEL_CALLS or location.backward or location.scope.phase != c.FORWARD:
            return
        thread = self.thread()
        if thread.is_in_model or (self._caller is not None and self._caller != threading.get_ident()):
            return
        is_called = self._model_called if self._clock == Clock.MODEL_CALLS else self._backward_seen
        place = frames.find_place()
        begins = place != 0 and self._rounds.note_operator(place, is_called)
        # Where no lines are known: an operator with a gradient after a backward pass.
        if self._clock == Clock.BACKWARD_PASSES and self._backward_seen and peek_sequence_number() != thread.sequence_number:
            begins = True
        if begins and not self._waits_for_optimizer():
            self.tick(self._clock)

    def _note_forward(self, scope: Scope, source: Source) -> None:
        """Autograd has made its nodes before the operator comes here: they belong to the operator that comes next."""
        thread, following = self.thread(), peek_sequence_number()
        if following == thread.sequence_number:
            return
        first = max(thread.sequence_number, following - 64) if following > thread.sequence_number else following - 1
        for number in range(first, following):
            self._locations[threading.get_ident(), number] = scope, source
            if len(self._locations) > _MOST_LOCATIONS:
                self._locations.popitem(last=False)
        thread.sequence_number = following

    # ---- operators

    def run(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], go_on: Callable[[], Any], is_recorded: bool) -> Any:
        """Runs the operator; not recorded, what it writes is seen all the same. Nothing but the operator itself throws."""
        kind = kind_of(op)
        if kind.skipped:
            return go_on()
        values = values_of(kind, args, kwargs)
        call = None
        with self.guarded():
            if kind.collective:
                c.report_unseen(self.session, kind.function.encode(), b"the recorder in Python does not wait for it")
            elif is_recorded:
                call = self._begin_call(kind, values)
        try:
            result = go_on()
        except BaseException:
            self._note_writes(kind, values)
            c.end(self.session, call, None, 0, 1)
            raise
        self._note_writes(kind, values)
        with self.guarded():
            call = self._end_call(kind, values, result, call)
        if call is not None:  # what came after the operator has failed
            c.end(self.session, call, None, 0, 1)
        return result

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """What is thrown there is a loss, and not the program's concern."""
        try:
            with unseen_by_modes():
                yield
        except Exception as error:
            c.report_unseen(self.session, b"part of an operator", repr(error).encode("utf-8", "replace"))

    def region(self, kind: str, inputs: list[Any], undumped: bytes | None) -> Any:
        """Generated code as one operator. None: it is not recorded."""
        location = self._locate()
        self._note_pass(location)
        op, source = self.names.next_operator(location.scope, kind, lambda: self._find_source(location))
        self._note_forward(location.scope, source)
        if not c.wants(self.session, op):
            return None
        operands = Operands(self.contents)
        for value in inputs:
            operands.add(value, undumped, False)
        return c.begin(self.session, op, *operands.array())

    def end_region(self, call: Any, outputs: list[Any], has_own_numbers: bool) -> None:
        """`has_own_numbers`: it drew random numbers by a generator of its own."""
        if not call:
            return
        if has_own_numbers:
            c.set_arguments(self.session, call, c.Argument(kind=c.ARG_STATE, name=b"random", text=b"generated"), 1)
        operands = Operands(self.contents)
        for value in outputs:
            operands.add(value, None, False)
        c.end(self.session, call, *operands.array(), 0)

    def _begin_call(self, kind: Kind, values: list[Any]) -> Any:
        location = self._locate()
        self._note_pass(location)
        op, source = self.names.next_operator(location.scope, kind.type, lambda: self._find_source(location))
        self._note_forward(location.scope, source)
        wants = c.wants(self.session, op)
        if wants == 0:
            return None
        operands = Operands(self.contents)
        for argument, value in zip(kind.arguments, values):
            undumped = VIEW if kind.view and not self._keeps_failures else b"out= argument" if argument.out else \
                b"only written to" if argument.overwritten else None
            operands.add(value, undumped, argument.kind == "TensorType")
        call = c.begin(self.session, op, *operands.array())
        if call is not None and wants & c.WANTS_ARGUMENTS:
            c.set_arguments(self.session, call, *Arguments(kind, values).array())
        return call

    def _note_writes(self, kind: Kind, values: list[Any]) -> None:
        with self.guarded():
            for i, value in enumerate(values):
                if kind.writes_to(i, values) or kind.collective:
                    for storage in storages_in(value):
                        self.contents.changed(storage)

    def _end_call(self, kind: Kind, values: list[Any], result: Any, call: Any) -> None:
        results = result if isinstance(result, tuple) and kind.return_count != 1 else (result,)
        for i, value in enumerate(results):
            if kind.leaves_uninitialised(i):
                for storage in storages_in(value):
                    self.contents.changed(storage, uninitialised=True)
        if call is None:
            return
        operands = Operands(self.contents)
        for i, value in enumerate(results if kind.return_count else ()):
            operands.add(value, VIEW if kind.view and not self._dumps_views else b"uninitialised" if kind.leaves_uninitialised(i) else None,
                         False)
        for argument, value in zip(kind.arguments, values):
            if argument.written if kind.return_count == 0 else argument.is_extra_output:
                operands.add(value, None, False)
        c.end(self.session, call, *operands.array(), 0)
