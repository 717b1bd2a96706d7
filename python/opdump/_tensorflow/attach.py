"""Records TensorFlow. The recorder sees each kernel that the CPU runs (adapters/tensorflow); this module reports to it which
functions, sessions and optimizers run, and the names of operators that Python runs one by one."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import functools
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.client import session as sessions
from tensorflow.python.eager import backprop, context
from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function
from tensorflow.python.framework import ops
from tensorflow.python.training import optimizer as optimizers_v1

from opdump import _imports, _stderr
from opdump._frames import uncaught_exception
from opdump._stderr import print_line
from opdump._tensorflow import adapter

_FUNCTION, _SESSION, _OPTIMIZER = 0, 1, 2  # sections; see door.h
_EXISTING = {None: 0, "refuse": 1, "replace": 2, "append": 3, "original": 4}

_library: adapter.Library | None = None
_is_recording = False
_context_handle: Any = None  # the one that the recorder knows
_described: set[int] = set()  # graphs whose lines it knows
_inside = threading.local()  # models that call models
_failures: set[str] = set()


def load() -> adapter.Library:
    """Loads the recorder and installs the hooks, once. Must come before the program's first operator."""
    global _library
    if _library is None:
        if context._context is not None and context._context._initialized:
            raise RuntimeError("TensorFlow has run an operator already: import opdump, or open the device, before the first one")
        _library = adapter.Library()
        if (original := _stderr.kept()) >= 0:
            _library.keep_stderr(original)
        _library.set_describer(_describer)
        _install()
        if os.environ.get("OPDUMP_GOLDEN"):
            _run_as_written()
        atexit.register(_stop_at_exit)
    return _library


def start(config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
          mode: str | None = None, strict: bool = False, existing: str | None = None, process: str | None = None) -> None:
    """See opdump.start and opdump._torch.attach."""
    global _is_recording, _context_handle
    if _is_recording:
        raise RuntimeError("a recording is in progress: stop it first")
    library = load()
    options = adapter.Options(
        size=ctypes.sizeof(adapter.Options), config_path=_encoded(config), config_text=_encoded(text),
        dialect=_encoded(dialect), mode=_encoded(mode), process=_encoded(process), strict=int(strict),
        existing=_EXISTING[existing], runtime=f"tensorflow {tf.__version__}".encode())
    _described.clear()
    if status := library.start(ctypes.byref(options), _encoded(model_name or _program_name())):
        kinds: dict[int, type[Exception]] = {1: ValueError, 5: FileExistsError}
        raise kinds.get(status, RuntimeError)(library.last_error())
    _is_recording, _context_handle = True, None


def stop(failure: BaseException | None = None) -> bool:
    """See opdump.stop."""
    global _is_recording
    if not _is_recording:
        return True
    _is_recording = False
    return _library.stop(int(isinstance(failure, (Exception, KeyboardInterrupt)))) == 0


def step() -> None:
    if _is_recording:
        _library.step()


def is_recording() -> bool:
    return _is_recording


def active() -> bool:
    return _is_recording and bool(_library.is_active())


def current_step() -> int:
    return _library.current_step() if _is_recording else 0


def start_from_environment() -> None:
    """Starts with the configuration named by the environment. A wrong one ends the program before it begins."""
    process = sys.modules.get("multiprocessing.process")
    name = process.current_process().name if process else "MainProcess"
    try:
        start(None, process=None if name == "MainProcess" else name)
    except ValueError as error:
        print_line(str(error))
        raise SystemExit(2) from None


def make_config(output: str, *, steps: str, ops: str | None, module: str | None, budget: str | None, tensors: bool,
                statistics: bool) -> str:
    """The configuration for a request. Raises ValueError if one of its values is wrong."""
    return load().make_config(adapter.Request(
        size=ctypes.sizeof(adapter.Request), content=int(tensors) | int(statistics) << 1, output=_encoded(output),
        steps=_encoded(steps), ops=_encoded(ops), module=_encoded(module), budget=_encoded(budget)))


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _program_name() -> str:
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None) or (sys.argv[0] if sys.argv else "")
    return os.path.splitext(os.path.basename(path))[0] or "program"


def _stop_at_exit() -> None:
    stop(uncaught_exception())


@contextlib.contextmanager
def _nothing_reaches_the_program(what: str) -> Iterator[None]:
    """A failure of opdump is a loss, reported once."""
    try:
        yield
    except Exception as error:
        if what not in _failures:
            _failures.add(what)
            _library.report_unseen(what.encode(), repr(error).encode())


# Lines of the program


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


def _find_line() -> tuple[str, int]:
    """The innermost line outside of libraries that this thread is at."""
    frame = sys._getframe()
    while frame is not None:
        if _is_of_program(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _report_lines(graph: Any) -> None:
    """Reports where the program made the nodes of a graph, once for each node."""
    known = getattr(graph, "_opdump_lines", 0)
    operations = graph.get_operations()
    for operation in operations[known:]:
        for frame in reversed(list(operation.traceback or ())):
            if _is_of_program(frame.filename):
                _library.add_source(operation.name.encode(), _encoded(_relative(frame.filename)), frame.lineno)
                break
    graph._opdump_lines = len(operations)


def _relative(file: str) -> str:
    """The program's files without its directory, as their lines are shown for torch."""
    prefix = os.getcwd() + os.sep
    return file[len(prefix):] if file.startswith(prefix) else file


# What Python runs one by one


def _describe() -> None:
    """Called for each recorded operator that this thread runs directly."""
    try:
        _report_context()
        file, line = _find_line()
        scope = getattr(_inside, "gradient", "") or context.context().scope_name
        _library.describe(scope.encode(), _encoded(_relative(file)), line)
    except KeyboardInterrupt:  # this function cannot raise it
        _thread.interrupt_main()
    except BaseException as error:
        _library.report_unseen(b"names of operators", repr(error).encode())


_describer = adapter.Describer(_describe)


def _report_context() -> None:
    global _context_handle
    handle = context.context()._context_handle
    if handle is None or handle is _context_handle:
        return
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    _library.set_context(api.PyCapsule_GetPointer(handle, api.PyCapsule_GetName(handle)))
    _context_handle = handle


# Functions, sessions, optimizers


@contextlib.contextmanager
def _section(section: int, what: str, unit: Callable[[], str]) -> Iterator[None]:
    """Reports that something runs. `unit` returns what a program repeats."""
    is_entered = False
    if _is_recording:
        with _nothing_reaches_the_program(what):
            _library.enter(unit().encode("utf-8", "replace"), section)
            is_entered = True
    try:
        yield
    finally:
        if is_entered:
            _library.leave(section)


def _reporting_function(call_flat: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call_flat)
    def reported(self: Any, *args: Any) -> Any:
        if not _is_recording or not context.executing_eagerly():
            return call_flat(self, *args)
        with contextlib.ExitStack() as running:
            if getattr(self.graph, "_opdump_trains", False):  # its end is that of an optimizer
                running.enter_context(_section(_OPTIMIZER, "an optimizer", lambda: "optimizer"))
            running.enter_context(_section(_FUNCTION, "a function", lambda: _enter_function(self)))
            return call_flat(self, *args)

    return reported


def _enter_function(function: Any) -> str:
    _report_context()
    if _library.is_active():
        with _nothing_reaches_the_program("lines of the program"):
            _report_lines_of(function)
    return re.sub(r"_\d+$", "", function.name.decode() if isinstance(function.name, bytes) else function.name)


def _report_lines_of(function: Any) -> None:
    if id(function) in _described:
        return
    _described.add(id(function))
    if function.graph is not None:
        _report_lines(function.graph)
    for child in function.children or ():
        _report_lines_of(child)


def _reporting_session(do_run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(do_run)
    def reported(self: Any, handle: Any, target_list: Any, fetch_list: Any, *args: Any, **kwargs: Any) -> Any:
        def unit() -> str:
            if _library.is_active():
                with _nothing_reaches_the_program("lines of the program"):
                    _report_lines(self.graph)
                    for function in list(self.graph._functions.values()):  # branches and bodies of loops
                        _report_lines_of(function)
            return "session " + " ".join(sorted(thing.name for thing in (*target_list, *fetch_list)))

        with _section(_SESSION, "a session", unit):
            return do_run(self, handle, target_list, fetch_list, *args, **kwargs)

    return reported


def _reporting_optimizer(apply: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer that Python runs directly. In a function its operators are recognised by their scope."""

    @functools.wraps(apply)
    def reported(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_recording:
            return apply(self, *args, **kwargs)
        with _nothing_reaches_the_program("an optimizer"):
            _add_optimizer(self)
            if not context.executing_eagerly():
                _mark_graphs()
        if not context.executing_eagerly():
            return apply(self, *args, **kwargs)
        with _section(_OPTIMIZER, "an optimizer", lambda: "optimizer"):
            return apply(self, *args, **kwargs)

    return reported


def _in_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """Operators of a gradient that Python runs directly get the names that they have in a graph."""

    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        outer, _inside.gradient = getattr(_inside, "gradient", ""), "gradient_tape/"
        try:
            return function(*args, **kwargs)
        finally:
            _inside.gradient = outer

    return computed


def _in_gradient_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for the gradient of one operator: "gradient_tape/dense/MatMul/"."""

    @functools.wraps(function)
    def computed(type_name: str, *args: Any) -> Any:
        outer = getattr(_inside, "gradient", "")
        scope = args[-1].rstrip("/") + "/" if args[-1] else ""
        _inside.gradient = f"gradient_tape/{scope}{type_name}/"
        try:
            return function(type_name, *args)
        finally:
            _inside.gradient = outer

    return computed


def _mark_graphs() -> None:
    """Marks the function that is traced, and those around it: they train."""
    graph = ops.get_default_graph()
    while graph is not None:
        graph._opdump_trains = True
        graph = getattr(graph, "outer_graph", None)


def _add_optimizer(optimizer: Any) -> None:
    name = getattr(optimizer, "name", None) or getattr(optimizer, "_name", None)
    _library.add_optimizer(None)
    if isinstance(name, str):
        for scope in (name, *(f"{name}_{number}" for number in range(1, 10))):  # a graph makes names of scopes unique
            _library.add_optimizer(scope.encode())


def _noting_optimizer(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def noted(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if _is_recording:
            with _nothing_reaches_the_program("an optimizer"):
                _add_optimizer(self)

    return noted


def _reporting_model(call: Callable[..., Any]) -> Callable[..., Any]:
    """A model that Python calls directly: in a program without an optimizer, each call of it is a step."""

    @functools.wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_recording or getattr(_inside, "model", False) or not context.executing_eagerly():
            return call(self, *args, **kwargs)
        with _nothing_reaches_the_program("a model"):
            _library.begin_unit(f"model {id(self)}".encode())
        _inside.model = True
        try:
            return call(self, *args, **kwargs)
        finally:
            _inside.model = False

    return __call__


def _reporting_tape(enter: Callable[..., Any]) -> Callable[..., Any]:
    """The same for training without an optimizer of TensorFlow: the line that records gradients is reached again."""

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        if _is_recording and context.executing_eagerly():
            with _nothing_reaches_the_program("a tape"):
                _library.begin_unit("tape {}:{}".format(*_find_line()).encode("utf-8", "replace"))
        return enter(self)

    return __enter__


def _wrap(owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(owner, name, wrapper(getattr(owner, name)))


def _wrap_optimizers(module: str, class_name: str, methods: Iterable[str]) -> None:
    def wrap() -> None:
        owner = getattr(sys.modules[module], class_name)
        _wrap(owner, "__init__", _noting_optimizer)
        for method in methods:
            _wrap(owner, method, _reporting_optimizer)

    _imports.call_after(module, wrap)


def _run_as_written() -> None:
    """Graphs run without TensorFlow's optimisations and XLA: golden data has the result of each operator that the program names,
    whatever a device fuses."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    _wrap(sessions.BaseSession, "__init__", _without_optimisation)
    _wrap(polymorphic_function.Function, "__init__", _without_xla)


def _without_optimisation(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def created(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if isinstance(config, config_pb2.ConfigProto):  # the one by default has the option already
            given, config = config, config_pb2.ConfigProto()
            config.CopyFrom(given)
            config.graph_options.rewrite_options.disable_meta_optimizer = True
        init(self, target, graph, config)

    return created


def _without_xla(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def created(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **{**kwargs, "jit_compile": False})

    return created


def _install() -> None:
    _wrap(atomic_function.AtomicFunction, "call_flat", _reporting_function)
    _wrap(sessions.BaseSession, "_do_run", _reporting_session)
    _wrap(backprop.GradientTape, "__enter__", _reporting_tape)
    for name in ("gradient", "jacobian", "batch_jacobian"):
        _wrap(backprop.GradientTape, name, _in_gradients)
    pywrap_tfe.TFE_Py_RegisterGradientFunction(_in_gradient_of(backprop._gradient_function))
    _wrap_optimizers(optimizers_v1.__name__, "Optimizer", ["apply_gradients"])
    _wrap_optimizers("keras.src.optimizers.base_optimizer", "BaseOptimizer", ["apply"])
    _wrap_optimizers("tf_keras.src.optimizers.optimizer", "_BaseOptimizer", ["apply_gradients"])
    _wrap_optimizers("tf_keras.src.optimizers.legacy.optimizer_v2", "OptimizerV2", ["apply_gradients"])
    for module in ("keras.src.models.model", "tf_keras.src.engine.training"):
        _imports.call_after(module, lambda module=module: _wrap(sys.modules[module].Model, "__call__", _reporting_model))
