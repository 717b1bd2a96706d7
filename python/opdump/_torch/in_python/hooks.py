"""The functions of opdump._torch.recorder, which recorder.pyi lists, in Python."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from opdump import _interface as c
from opdump import _stderr
from opdump._imports import report_to_run
from opdump._torch.in_python.dispatch import state
from opdump._torch.in_python.frames import frames
from opdump._torch.in_python.modules import modules
from opdump._torch.in_python.observer import KEY, Clock, Observer, ScopeFrame, set_included, state_of_thread, unseen_by_modes
from opdump._torch.in_python.scopes import NOWHERE, Scope, Source
from opdump._torch.in_python.scopes import mark as _mark

_COMPILED_MODEL = 1  # the id of the model whose executions are recorded
_SHARDS = "the recorder in Python does not know parts of tensors"


def _steps_optimizer() -> bool:
    return state.steps_optimizer()


# ---- beginning and end

@c.Log
def _log(_user: Any, _level: int, line: bytes) -> None:
    _stderr.print_line(line.decode("utf-8", "replace"))


def setup(*, find_path: Any, name_root: Any, steps_optimizer: Any, start_in_child: Any, find_flag: Any, describe_shard: Any,
          library_prefixes: list[str], working_directory: str) -> None:
    modules.find_path, modules.name_root, modules.find_flag = find_path, name_root, find_flag
    state.steps_optimizer, state.start_in_child = steps_optimizer, start_in_child
    frames.library_prefixes, frames.working_directory = tuple(library_prefixes), working_directory


def start(config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
          process: str | None = None, mode: str | None = None, strict: bool = False, first_step: int = 0,
          existing: str | None = None) -> None:
    if existing is not None and existing not in c.EXISTING[1:]:
        raise ValueError(f"existing is '{existing}'; expected 'refuse', 'replace' or 'append'")
    if state.observer is not None:
        raise RuntimeError("a recording is in progress")
    behaviour = c.EXISTING.index(existing or "")
    environment = os.environ
    if config is None:
        config = environment.get("OPDUMP_CONFIG") or None
        if config is None:  # the original's own variable: it adds to an existing dump
            config, behaviour = environment.get("MINDSPORE_DUMP_CONFIG") or None, behaviour or c.EXISTING.index("original")
    only_executions = state.executions and not state.single_operators
    options = c.Options(
        config_path=c.encode(config), config_text=c.encode(text), dialect=c.encode(dialect or environment.get("OPDUMP_DIALECT") or None),
        mode=c.encode(mode or environment.get("OPDUMP_MODE") or None), runtime=b"torch " + torch.__version__.partition("+")[0].encode(),
        process=c.encode(process), strict=strict or environment.get("OPDUMP_STRICT", "0") not in ("", "0"), existing=behaviour, log=_log,
        reports_graph=not (process or state.single_operators or only_executions), is_launched=1)
    session = ctypes.c_void_p()
    status = c.open_session(options, session)
    if status != 0:
        error = (c.last_error() or b"").decode("utf-8", "replace")
        report_to_run("!")
        raise _exception(status)(error)
    if not session:  # the configuration asks for nothing
        return
    graph_id = c.NO_GRAPH if state.single_operators else _COMPILED_MODEL if only_executions else 0
    name = c.encode(_program_name())
    c.define_graph(session, c.GraphInfo(graph_id=max(0, graph_id), name=name, file_name=name))
    if model_name is not None:
        c.define_graph(session, c.GraphInfo(graph_id=max(0, graph_id), name=c.encode(model_name)))
    _describe_run(session, set())
    modules.clear()
    state.observer = Observer(session, f"Default/{process}" if process else "Default", first_step, graph_id, only_executions,
                               _steps_optimizer, bool(environment.get("OPDUMP_GOLDEN")))
    join_thread()
    report_to_run("+")
    if process is None and not state.is_announced:
        state.is_announced = True
        _stderr.print_line(f"recording {state.why}")


def stop() -> bool:
    observer, state.observer = state.observer, None
    was_cut_short, state.is_cut_short = state.is_cut_short, False
    if observer is None:
        return True
    c.mark_step(observer.session, c.STEP_CUT if was_cut_short else observer.open_step())
    set_included(KEY, False)
    deadline = time.monotonic() + 2
    while state.visits > 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    _describe_run(observer.session, observer.devices)  # programs choose a seed when they run
    status = c.close(observer.session) if state.visits == 0 else c.rest(observer.session)
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
    observer, state.observer = state.observer, None
    if observer is not None:
        state.is_child_pending, state.step_at_fork, state.visits = observer.is_active, observer.step, 0
        c.abandon(observer.session)


os.register_at_fork(after_in_child=_after_fork_in_child)


def record_single_operators(on: bool) -> None:
    state.single_operators = bool(on)


def record_executions(on: bool) -> None:
    state.executions = bool(on)


def keep_stderr(descriptor: int) -> None:
    """opdump._stderr keeps it already."""


def rest() -> None:
    if state.observer is not None:
        c.rest(state.observer.session)


def abandon() -> None:
    observer, state.observer = state.observer, None
    if observer is not None:
        set_included(KEY, False)
        c.abandon(observer.session)
        report_to_run("-")


def directory() -> str:
    return "" if state.observer is None else os.fsdecode(c.directory(state.observer.session))


def await_operator() -> None:
    state.is_child_pending = True


def step() -> None:
    if state.observer is not None:
        state.observer.tick(Clock.EXPLICIT_CALLS)


def current_step() -> int:
    return state.observer.step if state.observer is not None else state.step_at_fork


def active() -> bool:
    return state.observer is not None and state.observer.is_active


def cut_short() -> None:
    state.is_cut_short = True


def raise_alarm(kind: str, text: str) -> None:
    if state.observer is not None:
        c.raise_alarm(state.observer.session, c.encode(kind), c.encode(text))


# ---- modules, passes and nodes

def enter_module(module: Any) -> bool:
    return modules.enter(state.observer, module)


def leave_module() -> None:
    modules.leave(state.observer)


def enter_backward() -> None:
    state_of_thread.backward_calls += 1


def leave_backward() -> None:
    state_of_thread.backward_calls -= 1
    if state_of_thread.backward_calls == 0:
        state_of_thread.node = state_of_thread.node_frame = None  # it keeps the graph


def note_compiled(module: Any) -> None:
    modules.note_compiled(module)


def enter_execution() -> None:
    if state.observer is not None:
        state.observer.enter_execution()


def leave_execution() -> None:
    if state.observer is not None:
        state.observer.leave_execution()


def enter_generated() -> None:
    state_of_thread.pauses += 1
    if state.observer is not None:
        state.observer.contents.begin_unknown_write()


def leave_generated() -> None:
    state_of_thread.pauses -= 1
    if state.observer is not None:
        state.observer.contents.end_unknown_write()


def module_scope() -> Any:
    observer = state.observer
    return None if observer is None else observer.module_scope() or observer.names.root


def enter_node(scope: Any, path: str, file: str, line: int, stack: str, is_backward: bool) -> None:
    observer = state.observer
    if observer is None:
        return
    with observer.guarded():
        at: Scope = observer.names.descend(scope or observer.names.root, path)
        source = Source(file, line, (stack,)) if file else NOWHERE
        observer.push(ScopeFrame(observer.names.gradients_of(at) if is_backward else at, source, bool(is_backward)))


def leave_node() -> None:
    if state.observer is not None:
        state.observer.pop()


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
    state_of_thread.pauses += 1
    dispatch, function = torch._C._DisableTorchDispatch(), unseen_by_modes()
    dispatch.__enter__()
    function.__enter__()
    _hidden().append((dispatch, function))


def unhide() -> None:
    if _hidden():
        dispatch, function = _hidden().pop()
        function.__exit__(None, None, None)
        dispatch.__exit__(None, None, None)
        state_of_thread.pauses -= 1


def _hidden() -> list[Any]:
    """Of this thread."""
    return state_of_thread.__dict__.setdefault("hidden", [])


def pause() -> None:
    state_of_thread.pauses += 1


def resume() -> None:
    state_of_thread.pauses -= 1


def join_thread() -> None:
    if state.observer is not None:
        state.observer.join_thread()
    else:
        set_included(KEY, False)


def current_scope() -> Any:
    return state.observer.current_scope() if active() and state.observer is not None else None


def lend_thread(scope: Any) -> int:
    was_hooked = torch._C._dispatch_tls_is_dispatch_key_included(KEY)
    if not was_hooked:
        join_thread()
    if state.observer is not None:
        state.observer.push(ScopeFrame(scope))
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
    if state.observer is not None:
        c.report_unseen(state.observer.session, c.encode(what), c.encode(reason))


def expect_shards() -> None:
    report_unseen("placements of DTensors", _SHARDS)


def mark(name: str | None) -> None:
    _mark.name = name


def name_cell(file: str, name: str) -> None:
    frames.cells[file] = name


def name_tensor(storage: int, name: str, is_weight: bool) -> None:
    if state.observer is not None:
        state.observer.contents.name(storage, name, is_weight)


def flag_module(module: Any) -> None:
    modules.flag(state.observer, module)


def flag_name(name: str, enabled: bool) -> None:
    if state.observer is not None:
        c.set_dump(state.observer.session, c.encode(name), c.FLAG_ON if enabled else 0)


def settle(storage: int) -> None:
    """Nothing is borrowed."""


def written(storage: int) -> None:
    if state.observer is not None:
        state.observer.contents.changed_at(storage)


def allocated(storage: int) -> None:
    if state.observer is not None:
        state.observer.contents.changed_at(storage, uninitialised=True)
