"""How the recorder in Python learns what torch does: a fallback on a dispatch key, and functions of torch that are wrapped."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from opdump import _stderr
from opdump._imports import call_after
from opdump._torch.in_python.kinds import kind_of
from opdump._torch.in_python.observer import KEY, Observer, set_excluded, state_of_thread, unseen_by_modes


def _is_unknown() -> bool:
    return False


class State:
    """Of this process."""

    steps_optimizer: Callable[[], bool] = staticmethod(_is_unknown)  # until setup(), which follows the first start()
    observer: Observer | None = None
    visits = 0  # threads inside an operator; a recording is not closed under their feet
    single_operators = executions = is_cut_short = is_announced = False
    why = ""  # this recorder and no other one, in words
    step_at_fork = 0
    is_child_pending = False  # forked while recording; the child has not decided yet
    start_in_child: Callable[[], None]


state = State()


# ---- the dispatcher

def _on_operator(keys: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """The fallback of the dispatch key: every operator of a thread whose set includes it."""
    below = keys & _BELOW

    def go_on() -> Any:
        # A number that stands for a tensor is one only for a call from the top, past autograd, which has run.
        if any(argument.kind == "TensorType" and type(value) in (bool, int, float, complex)
               for argument, value in zip(kind.arguments, args)):
            with unseen_by_modes():
                return op(*args, **kwargs)
        return op.redispatch(below, *args, **kwargs)

    kind = kind_of(op)
    if kind.composite and _is_taken_apart(op, below, args):
        return go_on()
    set_excluded(KEY, True)  # what a kernel calls on the way is not an operator of the program
    state.visits += 1
    try:
        if state.is_child_pending:
            state.is_child_pending = False
            state.start_in_child()
        observer = state.observer
        if observer is None:
            return go_on()
        is_seen = state_of_thread.pauses == 0 and observer.sees_thread()
        if is_seen and not observer.is_active:
            with observer.guarded():
                observer.begins_recorded_step()
        if not observer.is_active:
            return go_on()
        return observer.run(op, args, kwargs, go_on, is_seen)
    except BaseException as error:
        error.__traceback__ = None  # ours is not the program's
        raise
    finally:
        state.visits -= 1
        set_excluded(KEY, False)


def _is_taken_apart(op: Any, below: Any, args: tuple[Any, ...]) -> bool:
    """Whether autograd would have taken a composite operator apart before it came here, but for inference mode or a tensor that was
    made there; and no kernel of the tensors' device runs it."""
    tensors = [value for value in torch.utils._pytree.tree_leaves(args) if isinstance(value, torch.Tensor)]
    with unseen_by_modes():
        is_inference = torch.is_inference_mode_enabled() or any(tensor.is_inference() for tensor in tensors)
    if not tensors or not is_inference:
        return False
    return not op.has_kernel_for_dispatch_key(below.remove(_BACKEND_SELECT).highestPriorityTypeId())


_BELOW = torch._C._dispatch_keyset_full_after(KEY)
_BACKEND_SELECT = torch._C._dispatch_key_parse("BackendSelect")
_fallback = torch.library.Library("_", "IMPL")
_fallback.fallback(_on_operator, "Fake", with_keyset=True)


def _note_subclasses(name: str, op: Any) -> None:
    """Functions that make a tensor of a class need one that Python has not seen: the operator in them must not come here."""
    function = getattr(torch.Tensor, name)

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        observer = state.observer
        if observer is None or not torch._C._dispatch_tls_is_dispatch_key_included(KEY) or \
                torch._C._dispatch_tls_is_dispatch_key_excluded(KEY):
            return function(*args, **kwargs)
        data = next((value for value in args if isinstance(value, torch.Tensor)), None)
        set_excluded(KEY, True)
        try:
            if not observer.is_active or data is None or state_of_thread.pauses > 0 or not observer.sees_thread():
                return function(*args, **kwargs)
            return observer.run(op, (data,), {}, lambda: function(*args, **kwargs), True)
        finally:
            set_excluded(KEY, False)

    setattr(torch.Tensor, name, staticmethod(made) if name == "_make_subclass" else made)


_note_subclasses("_make_subclass", torch.ops.aten.detach.default)
_note_subclasses("as_subclass", torch.ops.aten.alias.default)


def _around_records(enter: Callable[[Any], Any], leave: Callable[..., Any]) -> None:
    """Optimizers say with them when a step begins and ends."""

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        observer, component = state.observer, _optimizer_component(self.name)
        if observer is not None and component:
            with observer.guarded():
                observer.enter_optimizer(component)
        return enter(self)

    @functools.wraps(leave)
    def left(self: Any, *args: Any) -> Any:
        result = leave(self, *args)
        observer = state.observer
        if observer is not None and _optimizer_component(self.name):
            with observer.guarded():
                observer.leave_optimizer(self.name.startswith("Optimizer.step#"))
        return result

    torch.autograd.profiler.record_function.__enter__ = entered  # type: ignore[method-assign]
    torch.autograd.profiler.record_function.__exit__ = left  # type: ignore[method-assign]


def _watch_passes(run: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function by which Python begins a backward pass."""

    @functools.wraps(run)
    def watched(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        observer, hooks = state.observer, []
        if observer is not None and observer.is_active:
            with observer.guarded():
                hooks = observer.watch_nodes(outputs)
        try:
            return run(outputs, *args, **kwargs)
        finally:
            for hook in hooks:
                hook.remove()

    return watched


torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = _watch_passes(torch.autograd.graph._engine_run_backward)


def _leave_tracing_alone(mode: Any) -> None:
    """Compilers trace in modes of torch's own, under which it runs kernels in a way that no fallback in Python may see."""
    enter, leave = mode.__enter__, mode.__exit__

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        if self.is_infra_mode():
            _traces().append(torch._C._dispatch_tls_is_dispatch_key_excluded(KEY))
            set_excluded(KEY, True)
        return enter(self)

    @functools.wraps(leave)
    def left(self: Any, *args: Any) -> Any:
        try:
            return leave(self, *args)
        finally:
            if self.is_infra_mode() and _traces():
                set_excluded(KEY, _traces().pop())

    mode.__enter__, mode.__exit__ = entered, left


def _traces() -> list[bool]:
    """Of this thread: whether each of the modes it is in began where nothing was seen anyway."""
    return state_of_thread.__dict__.setdefault("traces", [])


_leave_tracing_alone(torch.utils._python_dispatch.TorchDispatchMode)


def _run_uncompiled() -> None:
    """What torch.compile compiles runs as it is: tracing it with a fallback in Python would fail."""
    config: Any = sys.modules["torch._dynamo.config"]
    config.disable = True


def _watch_compilers() -> None:
    dynamo: Any = sys.modules["torch._dynamo"]
    original = dynamo.optimize

    @functools.wraps(original)
    def optimize(*args: Any, **kwargs: Any) -> Any:
        _say_what_runs()
        return original(*args, **kwargs)

    dynamo.optimize = optimize


@functools.cache
def _say_what_runs() -> None:
    """Once, unless the user has asked for just that."""
    if os.environ.get("OPDUMP_COMPILED") != "aten":
        _stderr.print_line("what the program gives to torch.compile runs and is recorded operator by operator, uncompiled, because "
                           "the recorder in Python sees no generated code; --compiled aten hides this line")


call_after("torch._dynamo", _watch_compilers)
if "torch._dynamo.config" in sys.modules:
    _run_uncompiled()
else:
    call_after("torch._dynamo.config", _run_uncompiled)


def _optimizer_component(name: str) -> str:
    """"Optimizer.step#SGD.step" -> "optimizer-SGD"; nothing for other records."""
    before, sharp, after = name.partition("#")
    optimizer, dot, _ = after.rpartition(".")
    return f"optimizer-{optimizer}" if before.startswith("Optimizer.") and sharp and dot else ""


_around_records(torch.autograd.profiler.record_function.__enter__, torch.autograd.profiler.record_function.__exit__)


# ---- regions that a compiler has made: what runs without operators, and marks where operators of one begin

def _begin_region(kind: str, inputs: list[torch.Tensor], undumped: bytes | None = None) -> int:
    observer = state.observer
    if observer is not None and observer.is_active and observer.sees_thread():
        with observer.guarded():
            return observer.region(kind, inputs, undumped) or 0
    return 0


def _end_region(call: int, outputs: list[torch.Tensor], has_own_numbers: bool) -> None:
    observer = state.observer
    if observer is not None:
        with observer.guarded():
            observer.end_region(call, outputs, has_own_numbers)


def _mark_region(kind: str, inputs: list[torch.Tensor]) -> None:
    _end_region(_begin_region(kind, inputs, b"of a compiled region"), [], False)


_regions = torch.library.Library("opdump_torch", "DEF")
for _schema, _function in (("begin_region(str type, Tensor[] inputs) -> int", _begin_region),
                           ("mark_region(str type, Tensor[] inputs) -> ()", _mark_region),
                           ("end_region(int call, Tensor[] outputs, bool has_own_numbers) -> ()", _end_region)):
    _regions.define(_schema)
    _regions.impl(_schema.partition("(")[0], _function, "CompositeImplicitAutograd")
