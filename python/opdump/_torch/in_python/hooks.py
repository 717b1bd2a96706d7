"""The functions of opdump._torch.recorder, which recorder.pyi lists, in Python."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from opdump import _stderr
from opdump._imports import call_after, report_to_run
from opdump._torch import adapter
from opdump._torch.in_python import interface as c
from opdump._torch.in_python.frames import frames
from opdump._torch.in_python.kinds import kind_of
from opdump._torch.in_python.modules import modules
from opdump._torch.in_python.observer import KEY, Clock, Observer, ScopeFrame, _thread, set_excluded, set_included, unseen_by_modes
from opdump._torch.in_python.scopes import NOWHERE, Scope, Source, mark as _mark

_COMPILED_MODEL = 1  # the id of the model whose executions are recorded
_OPAQUE = b"its generated kernels run no operators; with --compiled aten they are recorded"
_SHARDS = "the recorder in Python does not know parts of tensors"


def _is_unknown() -> bool:
    return False


class State:
    """Of this process."""

    steps_optimizer: Callable[[], bool] = staticmethod(_is_unknown)  # until setup(), which follows the first start()
    observer: Observer | None = None
    visits = 0  # threads inside an operator; a recording is not closed under their feet
    single_operators = executions = is_cut_short = is_announced = False
    step_at_fork = 0
    is_child_pending = False  # forked while recording; the child has not decided yet
    start_in_child: Callable[[], None]


_state = State()


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
    _state.visits += 1
    try:
        if _state.is_child_pending:
            _state.is_child_pending = False
            _state.start_in_child()
        observer = _state.observer
        is_seen = observer is not None and _thread.pauses == 0 and observer.sees_thread()
        if is_seen and not observer.is_active:
            with observer.guarded():
                observer.begins_recorded_step()
        if observer is None or not observer.is_active:
            return go_on()
        return observer.run(op, args, kwargs, go_on, is_seen)
    except BaseException as error:
        error.__traceback__ = None  # ours is not the program's
        raise
    finally:
        _state.visits -= 1
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
        observer = _state.observer
        if observer is None or not torch._C._dispatch_tls_is_dispatch_key_included(KEY) or \
                torch._C._dispatch_tls_is_dispatch_key_excluded(KEY):
            return function(*args, **kwargs)
        data = next((value for value in args if isinstance(value, torch.Tensor)), None)
        set_excluded(KEY, True)
        try:
            if not observer.is_active or data is None or _thread.pauses > 0 or not observer.sees_thread():
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
        observer, component = _state.observer, _optimizer_component(self.name)
        if observer is not None and component:
            with observer.guarded():
                observer.enter_optimizer(component)
        return enter(self)

    @functools.wraps(leave)
    def left(self: Any, *args: Any) -> Any:
        result = leave(self, *args)
        observer = _state.observer
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
        observer, hooks = _state.observer, []
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
    return _thread.__dict__.setdefault("traces", [])


_leave_tracing_alone(torch.utils._python_dispatch.TorchDispatchMode)


def _run_uncompiled() -> None:
    """What torch.compile compiles runs as it is: tracing it with a fallback in Python would fail."""
    sys.modules["torch._dynamo.config"].disable = True
    _stderr.print_line("torch.compile compiles nothing: the recorder in Python sees the operators of code that runs as it is")


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
    observer = _state.observer
    if observer is not None and observer.is_active and observer.sees_thread():
        with observer.guarded():
            return observer.region(kind, inputs, undumped) or 0
    return 0


def _end_region(call: int, outputs: list[torch.Tensor], has_own_numbers: bool) -> None:
    observer = _state.observer
    if observer is not None:
        with observer.guarded():
            observer.end_region(call, outputs, has_own_numbers)


def _mark_region(kind: str, inputs: list[torch.Tensor]) -> None:
    _end_region(_begin_region(kind, inputs, b"of a compiled region"), [], False)


_regions = torch.library.Library("opdump_torch", "DEF")
for _schema, _function in (("begin_region(str type, Tensor[] inputs) -> int", _begin_region), ("mark_region(str type, Tensor[] inputs) -> ()", _mark_region),
                           ("end_region(int call, Tensor[] outputs, bool has_own_numbers) -> ()", _end_region)):
    _regions.define(_schema)
    _regions.impl(_schema.partition("(")[0], _function, "CompositeImplicitAutograd")


# ---- beginning and end

@c.Log
def _log(_user: Any, _level: int, line: bytes) -> None:
    _stderr.print_line(line.decode("utf-8", "replace"))


def setup(*, find_path: Any, name_root: Any, steps_optimizer: Any, start_in_child: Any, find_flag: Any, describe_shard: Any,
          library_prefixes: list[str], working_directory: str) -> None:
    modules.find_path, modules.name_root, modules.find_flag = find_path, name_root, find_flag
    _state.steps_optimizer, _state.start_in_child = steps_optimizer, start_in_child
    frames.library_prefixes, frames.working_directory = tuple(library_prefixes), working_directory


def start(config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
          process: str | None = None, mode: str | None = None, strict: bool = False, first_step: int = 0,
          existing: str | None = None) -> None:
    if existing is not None and existing not in c.EXISTING[1:]:
        raise ValueError(f"existing is '{existing}'; expected 'refuse', 'replace' or 'append'")
    if _state.observer is not None:
        raise RuntimeError("a recording is in progress")
    behaviour = c.EXISTING.index(existing or "")
    environment = os.environ
    if config is None:
        config = environment.get("OPDUMP_CONFIG") or None
        if config is None:  # the original's own variable: it adds to an existing dump
            config, behaviour = environment.get("MINDSPORE_DUMP_CONFIG") or None, behaviour or c.EXISTING.index("original")
    only_executions = _state.executions and not _state.single_operators
    options = c.Options(
        config_path=c.encode(config), config_text=c.encode(text), dialect=c.encode(dialect or environment.get("OPDUMP_DIALECT") or None),
        mode=c.encode(mode or environment.get("OPDUMP_MODE") or None), runtime=b"torch " + torch.__version__.partition("+")[0].encode(),
        process=c.encode(process), strict=strict or environment.get("OPDUMP_STRICT", "0") not in ("", "0"), existing=behaviour, log=_log,
        reports_graph=not (process or _state.single_operators or only_executions), is_launched=1)
    session = ctypes.c_void_p()
    status = c.open_session(options, session)
    if status != 0:
        error = (c.last_error() or b"").decode("utf-8", "replace")
        report_to_run("!")
        raise _exception(status)(error)
    if not session:  # the configuration asks for nothing
        return
    graph_id = c.NO_GRAPH if _state.single_operators else _COMPILED_MODEL if only_executions else 0
    name = c.encode(_program_name())
    c.define_graph(session, c.GraphInfo(graph_id=max(0, graph_id), name=name, file_name=name))
    if model_name is not None:
        c.define_graph(session, c.GraphInfo(graph_id=max(0, graph_id), name=c.encode(model_name)))
    _describe_run(session, set())
    modules.clear()
    _state.observer = Observer(session, f"Default/{process}" if process else "Default", first_step, graph_id, only_executions,
                               lambda: _state.steps_optimizer(), bool(environment.get("OPDUMP_GOLDEN")))
    join_thread()
    report_to_run("+")
    if process is None and not _state.is_announced:
        _state.is_announced = True
        _stderr.print_line(f"recording {adapter.origin()}")


def stop() -> bool:
    observer, _state.observer = _state.observer, None
    was_cut_short, _state.is_cut_short = _state.is_cut_short, False
    if observer is None:
        return True
    c.mark_step(observer.session, c.STEP_CUT if was_cut_short else observer.open_step())
    set_included(KEY, False)
    deadline = time.monotonic() + 2
    while _state.visits > 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    _describe_run(observer.session, observer.devices)  # programs choose a seed when they run
    status = c.close(observer.session) if _state.visits == 0 else c.rest(observer.session)
    report_to_run("-")
    return status == 0


def make_config(output: str, *, steps: str, ops: str | None, module: str | None, budget: str | None, tensors: bool,
                statistics: bool) -> str:
    request = c.Request(content=(1 if tensors else 0) | (2 if statistics else 0), output=c.encode(output), steps=c.encode(steps),
                        ops=c.encode(ops), module=c.encode(module), budget=c.encode(budget))
    text = ctypes.c_char_p()
    status = c.make_config(request, text)
    if status != 0:
        raise _exception(status)((c.last_error() or b"").decode("utf-8", "replace"))
    return (text.value or b"").decode("utf-8", "surrogateescape")


def _exception(status: int) -> type[Exception]:
    return {c.ERROR_CONFIG: ValueError, c.ERROR_EXISTS: FileExistsError, c.ERROR_IO: OSError}.get(status, RuntimeError)


def _describe_run(session: Any, devices: set[str]) -> None:
    """What explains that another run computes other numbers, and the Python that can run its operators again."""
    facts = {"python": sys.executable, "seed": str(torch.default_generator.initial_seed() & 0xFFFFFFFFFFFFFFFF),
             "device": ", ".join(sorted(devices)) or "cpu", "threads": str(torch.get_num_threads()),
             "default dtype": {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half",
                               torch.bfloat16: "BFloat16"}.get(torch.get_default_dtype(), str(torch.get_default_dtype())),
             "deterministic": "yes" if torch.are_deterministic_algorithms_enabled() else "no"}
    for name, value in facts.items():
        c.describe_run(session, name.encode(), c.encode(value))


def _program_name() -> str:
    with open("/proc/self/cmdline", "rb") as line:
        words = [os.fsdecode(word) for word in line.read().split(b"\0")[:-1]]
    if not words:
        return "program"
    stem = lambda path: os.path.basename(path).rpartition(".")[0] or os.path.basename(path)  # noqa: E731
    if not os.path.basename(words[0]).startswith("python"):
        return stem(words[0])
    for i, word in enumerate(words[1:], 1):
        if word.endswith(".py"):
            return stem(word)
        if word == "-m" and i + 1 < len(words):
            return words[i + 1]
        if not word.startswith("-"):
            break
    return os.path.basename(words[0])


def _after_fork_in_child() -> None:
    """The session's threads are gone and its locks may be held: the child must not touch it."""
    observer, _state.observer = _state.observer, None
    if observer is not None:
        _state.is_child_pending, _state.step_at_fork, _state.visits = observer.is_active, observer.step, 0
        c.abandon(observer.session)


os.register_at_fork(after_in_child=_after_fork_in_child)


def record_single_operators(on: bool) -> None:
    _state.single_operators = bool(on)


def record_executions(on: bool) -> None:
    _state.executions = bool(on)


def keep_stderr(descriptor: int) -> None:
    """opdump._stderr keeps it already."""


def rest() -> None:
    if _state.observer is not None:
        c.rest(_state.observer.session)


def step() -> None:
    if _state.observer is not None:
        _state.observer.tick(Clock.EXPLICIT_CALLS)


def current_step() -> int:
    return _state.observer.step if _state.observer is not None else _state.step_at_fork


def active() -> bool:
    return _state.observer is not None and _state.observer.is_active


def cut_short() -> None:
    _state.is_cut_short = True


def raise_alarm(kind: str, text: str) -> None:
    if _state.observer is not None:
        c.raise_alarm(_state.observer.session, c.encode(kind), c.encode(text))


# ---- modules, passes and nodes

def enter_module(module: Any) -> bool:
    return modules.enter(_state.observer, module)


def leave_module() -> None:
    modules.leave(_state.observer)


def enter_backward() -> None:
    _thread.backward_calls += 1


def leave_backward() -> None:
    _thread.backward_calls -= 1
    if _thread.backward_calls == 0:
        _thread.node = _thread.node_frame = None  # it keeps the graph


def note_compiled(module: Any) -> None:
    modules.note_compiled(module)


def enter_execution() -> None:
    if _state.observer is not None:
        _state.observer.enter_execution()


def leave_execution() -> None:
    if _state.observer is not None:
        _state.observer.leave_execution()


def enter_generated() -> None:
    _thread.pauses += 1
    if _state.observer is not None:
        _state.observer.contents.begin_unknown_write()


def leave_generated() -> None:
    _thread.pauses -= 1
    if _state.observer is not None:
        _state.observer.contents.end_unknown_write()


def module_scope() -> Any:
    observer = _state.observer
    return None if observer is None else observer.module_scope() or observer.names.root


def enter_node(scope: Any, path: str, file: str, line: int, stack: str, is_backward: bool) -> None:
    observer = _state.observer
    if observer is None:
        return
    with observer.guarded():
        at: Scope = observer.names.descend(scope or observer.names.root, path)
        source = Source(file, line, (stack,)) if file else NOWHERE
        observer.push(ScopeFrame(observer.names.gradients_of(at) if is_backward else at, source, bool(is_backward)))


def leave_node() -> None:
    if _state.observer is not None:
        _state.observer.pop()


def around(function: Callable[..., Any], before: Callable[..., Any], after: Callable[[Any], object]) -> Callable[..., Any]:
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        state = before(*args)
        try:
            return function(*args, **kwargs)
        finally:
            after(state)

    return run_backward


# ---- threads

def hide() -> None:
    """What this thread asks of torch from here on is ours: no mode or subclass of the program sees it, and it is not recorded."""
    _thread.pauses += 1
    dispatch, function = torch._C._DisableTorchDispatch(), unseen_by_modes()
    dispatch.__enter__()
    function.__enter__()
    _hidden().append((dispatch, function))


def unhide() -> None:
    if _hidden():
        dispatch, function = _hidden().pop()
        function.__exit__(None, None, None)
        dispatch.__exit__(None, None, None)
        _thread.pauses -= 1


def _hidden() -> list[Any]:
    """Of this thread."""
    return _thread.__dict__.setdefault("hidden", [])


def pause() -> None:
    _thread.pauses += 1


def resume() -> None:
    _thread.pauses -= 1


def join_thread() -> None:
    if _state.observer is not None:
        _state.observer.join_thread()
    else:
        set_included(KEY, False)


def current_scope() -> Any:
    return _state.observer.current_scope() if active() and _state.observer is not None else None


def lend_thread(scope: Any) -> int:
    was_hooked = torch._C._dispatch_tls_is_dispatch_key_included(KEY)
    if not was_hooked:
        join_thread()
    if _state.observer is not None:
        _state.observer.push(ScopeFrame(scope))
    return 0 if was_hooked else 1


def return_thread(was_lent: int) -> None:
    leave_node()
    if was_lent:
        set_included(KEY, False)


# ---- what cannot be seen, and what is known of it

def keeps_failures() -> bool:
    return False


def failures() -> int:
    return 0


def report_unseen(what: str, reason: str) -> None:
    if _state.observer is not None:
        c.report_unseen(_state.observer.session, c.encode(what), c.encode(reason))


def expect_shards() -> None:
    report_unseen("placements of DTensors", _SHARDS)


def mark(name: str | None) -> None:
    _mark.name = name


def name_cell(file: str, name: str) -> None:
    frames.cells[file] = name


def name_tensor(storage: int, name: str, is_weight: bool) -> None:
    if _state.observer is not None:
        _state.observer.contents.name(storage, name, is_weight)


def flag_module(module: Any) -> None:
    modules.flag(_state.observer, module)


def flag_name(name: str, enabled: bool) -> None:
    if _state.observer is not None:
        c.set_dump(_state.observer.session, c.encode(name), c.FLAG_ON if enabled else 0)


def settle(storage: int) -> None:
    """Nothing is borrowed."""


def written(storage: int) -> None:
    if _state.observer is not None:
        _state.observer.contents.changed_at(storage)


def allocated(storage: int) -> None:
    if _state.observer is not None:
        _state.observer.contents.changed_at(storage, uninitialised=True)
