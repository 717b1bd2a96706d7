"""Installs the hooks in torch: for the names of modules, for new threads, and for memory that leaves torch."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import inspect
import os
import sys
import sysconfig
import threading
import weakref

import torch

from opdump._torch import recorder as hooks  # first, because it refuses a torch that is too old for the others
from opdump import _stderr
from opdump._frames import leave_no_frame, uncaught_exception
from opdump._imports import call_after
from opdump._stderr import print_line
from opdump._torch import futures, loader, notebook, shards
from opdump._torch.optimizers import LIBRARIES, optimizers, steps_optimizer
from opdump._torch.unrecorded import out_of_sight, uncompiled

# Functions that expose the memory of a tensor without an operator.
_EXPORTS = ("numpy", "data_ptr", "storage", "untyped_storage", "_storage", "_typed_storage", "__dlpack__")

# Methods of storages that write to it.
_FILLS = ("_set_from_file", "byteswap", "_byteswap", "__setitem__")

_settings: dict | None = None  # of the recording under way
_last_failure: BaseException | None = None  # of the program, before it
_spawning = False  # this process is one that multiprocessing still builds, and will be recorded
_worker_name: str | None = None  # if this process is a loader's worker
_model_named = False
_root_names: dict[str, int] = {}
_roots: weakref.WeakKeyDictionary[torch.nn.Module, tuple[str, int]] = weakref.WeakKeyDictionary()
_flags: weakref.WeakKeyDictionary[torch.nn.Module, bool] = weakref.WeakKeyDictionary()  # set_dump() by module
_name_flags: dict[str, bool] = {}  # and by name
_naming_calls: weakref.WeakKeyDictionary[torch.nn.Module, int] = weakref.WeakKeyDictionary()  # by model, so far


def _is_never_compiling() -> bool:
    return False


# Whether a compiler traces the caller: it puts True in place of the call. What we wrap must look to it as it is without us.
is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _is_never_compiling)


def _own_module(module: torch.nn.Module) -> torch.nn.Module:
    """The program's module in that of torch.compile."""
    return getattr(module, "_orig_mod", module)


@out_of_sight
def _find_path(ancestor: torch.nn.Module, module: torch.nn.Module) -> str | None:
    """The path from `ancestor` to `module`: "features-Sequential/6-Conv2d", or None. The same with torch.compile and without."""
    for name, found in ancestor.named_modules():
        if found is module and name:
            parts, at = [], ancestor
            for part in name.split("."):
                at = at._modules[part]
                if part != "_orig_mod":
                    parts.append(f"{part}-{type(_own_module(at)).__name__}")
            return "/".join(parts)
    return None


@out_of_sight
def _name_root(module: torch.nn.Module) -> tuple[str, int]:
    """The name of an outermost module: "" for the model (the first one with children), else its class. Also returns its
    rank as a candidate for the model."""
    global _model_named
    module = _own_module(module)
    if module in _roots:  # which was called compiled, and now as it is
        return _roots[module]
    rank = 2 if next(module.children(), None) is not None else 1 if next(module.parameters(), None) is not None else 0
    name = ""
    if _model_named or rank < 2:
        name = type(module).__name__
        number = _root_names[name] = _root_names.get(name, -1) + 1
        name = f"{name}_{number}" if number else name
    else:
        _model_named = True
    _roots[module] = name, rank
    return name, rank


def _tell_calls(call):
    """A Python function, not a faster one in C, because programs treat Module.__call__ as one: torch.fx removes it from
    the class and restores it, others read its signature."""
    enter, leave = hooks.enter_module, hooks.leave_module

    @uncompiled  # by itself: where a compiler gives up in the module, the call would be compiled without its name
    @functools.wraps(call)
    def __call__(self, *args, **kwargs):
        if is_compiling():
            return call(self, *args, **kwargs)
        wants_names = enter(self)
        try:
            if wants_names:
                _name_tensors(self, args, kwargs)
            return call(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            leave()

    return __call__


def _report_backward(function):
    """Operators that such a function runs before the backward pass itself belong to the pass, too."""
    enter, leave = hooks.enter_backward, hooks.leave_backward

    @uncompiled
    @functools.wraps(function)
    def reported(*args, **kwargs):
        if is_compiling():
            return function(*args, **kwargs)
        enter()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            leave()

    return reported


@out_of_sight
def _name_tensors(model: torch.nn.Module, args: tuple, kwargs: dict) -> None:
    """Registers the program's names of the model's weights and of the inputs of this call."""
    with _nothing_reaches_the_program("names of inputs and weights"):
        calls = _naming_calls[model] = _naming_calls.get(model, 0) + 1
        if calls <= 3:  # gradients and an optimizer's state come into being during the first steps, and then stay
            _name_weights(model)
        inputs = dict(zip(_input_names(model), args)) | kwargs
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor):
                _name_tensor(value, name, False)


def _name_weights(model: torch.nn.Module) -> None:
    names = {}
    for name, tensor in model.named_buffers():
        _name_tensor(tensor, name, True)
    for name, tensor in model.named_parameters():
        names[tensor] = name
        _name_tensor(tensor, name, True)
        if tensor.grad is not None:
            _name_tensor(tensor.grad, f"grad.{name}", False)
    for optimizer in optimizers:
        for tensor, state in optimizer.state.items():
            for key, value in state.items() if tensor in names else ():
                if isinstance(value, torch.Tensor):
                    _name_tensor(value, f"{key}.{names[tensor]}", False)


def _name_tensor(tensor: torch.Tensor, name: str, is_weight: bool) -> None:
    if tensor.layout == torch.strided and type(tensor) in (torch.Tensor, torch.nn.Parameter):
        try:
            storage = _storage_of(tensor)
        except NotImplementedError:  # the tensors of torch.func have none
            return
        hooks.name_tensor(storage._cdata, name, is_weight)


def _input_names(model: torch.nn.Module) -> tuple[str, ...]:
    if isinstance(model, torch.jit.ScriptModule):  # its forward has no signature, and its class no forward
        return tuple(argument.name for argument in model.forward.schema.arguments[1:])
    return tuple(inspect.signature(model.forward).parameters)


def _settle_first(function):
    @uncompiled
    @functools.wraps(function)
    def settled(self, *args, **kwargs):
        if not is_compiling() and hooks.active():
            hooks.hide()
            try:
                hooks.settle(_storage_of(self)._cdata)
            except Exception:  # no storage: a sparse or wrapped tensor
                pass
            finally:
                hooks.unhide()
        try:
            return function(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise

    return settled


def _settle_and_note(function):
    """Wraps a method of a storage that fills its memory without an operator, as torch.load does."""

    @uncompiled
    @functools.wraps(function)
    def noted(self, *args, **kwargs):
        if is_compiling():
            return function(self, *args, **kwargs)
        if hooks.active():
            hooks.settle(self._cdata)
        try:
            return function(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            hooks.written(self._cdata)

    return noted


def _note_allocation(function):
    """Wraps what gives an empty storage of so many bytes memory without an operator: its constructor and its resize_()."""

    @uncompiled
    @functools.wraps(function)
    def noted(self, *args, **kwargs):
        if is_compiling() or not hooks.active():
            return function(self, *args, **kwargs)
        was_empty = function.__name__ == "__init__" or self.nbytes() == 0
        try:
            result = function(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        sizes = [*args, *kwargs.values()]
        if was_empty and sizes and isinstance(sizes[0], int) and self.device.type == "cpu":
            hooks.allocated(self._cdata)
        return result

    return noted


def _report_failure(function, type_name):
    """Reports failed indexing, because torch checks indices before it runs any operator."""

    @uncompiled
    @functools.wraps(function)
    def reported(self, index, *value):
        if is_compiling():
            return function(self, index, *value)
        failures = hooks.failures()
        try:
            return function(self, index, *value)
        except Exception as error:
            leave_no_frame(error)
            if hooks.keeps_failures() and hooks.failures() == failures:
                _save_failure(type_name, (self, *(index if isinstance(index, tuple) else (index,)), *value))
            raise

    return reported


def _watch_indexing() -> None:
    """Runs once per process, and only if the configuration needs it, because it slows indexing down."""
    if not getattr(_watch_indexing, "done", False):
        _watch_indexing.done = True
        for name in ("__getitem__", "__setitem__"):
            setattr(torch.Tensor, name, _report_failure(getattr(torch.Tensor, name), name.strip("_")))


def _save_failure(type_name: str, values: tuple) -> None:
    try:
        torch.ops.opdump_torch.add_failure(type_name, [v for v in values if isinstance(v, torch.Tensor)])
    except Exception as error:  # the error that reaches the program is its own
        hooks.report_unseen(f"the inputs of {type_name}", repr(error))


# The unwrapped method: Tensor.storage would call the wrapper of Tensor._storage again.
_storage_of = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage


def _note_optimizers(init):
    @functools.wraps(init)
    def noted(self, *args, **kwargs):
        try:
            init(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        with _nothing_reaches_the_program("the state of an optimizer"):
            optimizers.add(self)

    return noted


def _find_optimizers() -> None:
    """The objects that existed before the hooks. Uses type(): isinstance may run code of an object."""
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.optim.Optimizer):
            optimizers.add(thing)


@contextlib.contextmanager
def _nothing_reaches_the_program(what: str):
    """A failure of opdump is a loss, reported once; it never reaches the program. The program's modes and subclasses do
    not see the work done here."""
    hooks.hide()
    try:
        yield
    except Exception as error:
        hooks.report_unseen(what, repr(error))
    finally:
        hooks.unhide()


def _join(bootstrap):
    @functools.wraps(bootstrap)
    def joined(self):
        hooks.join_thread()
        bootstrap(self)

    return joined


def _install_once(only_executions: bool = False) -> None:
    if not getattr(_install, "done", False):
        _install.done = True
        with _nothing_reaches_the_program("names, steps and lines of the program"):
            _install(only_executions)


def _install(only_executions: bool) -> None:
    """Installs the hooks."""
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    # The standard library's directory may contain installed packages, which belong to the user: list it file by file.
    stdlib = [p for p in _standard_library(sysconfig.get_path("stdlib")) if p not in packages]
    hooks.setup(
        find_path=_find_path,
        name_root=_name_root,
        steps_optimizer=steps_optimizer,
        start_in_child=_start_in_child,
        find_flag=_flags.get,
        describe_shard=shards.describe_shard,
        library_prefixes=[*LIBRARIES, *stdlib],
        working_directory=os.getcwd() + os.sep,
    )
    torch.nn.Module.__call__ = _tell_calls(torch.nn.Module.__call__)
    for name in ("backward", "grad"):
        setattr(torch.autograd, name, _report_backward(getattr(torch.autograd, name)))
    torch.optim.Optimizer.__init__ = _note_optimizers(torch.optim.Optimizer.__init__)
    _find_optimizers()
    _hide_key_from_python()
    threading.Thread._bootstrap_inner = _join(threading.Thread._bootstrap_inner)
    for name in _EXPORTS:
        if hasattr(torch.Tensor, name):
            setattr(torch.Tensor, name, _settle_first(getattr(torch.Tensor, name)))
    storage = getattr(torch, "UntypedStorage", None) or getattr(torch, "_UntypedStorage", None)
    for name in _FILLS:
        if hasattr(storage, name):
            setattr(storage, name, _settle_and_note(getattr(storage, name)))
    for name in ("__init__", "resize_"):
        setattr(storage, name, _note_allocation(getattr(storage, name)))
    if hasattr(torch, "compile"):
        from opdump._torch import compiled

        compiled.install(only_executions)
    call_after("torch.distributed.device_mesh", _note_meshes)
    atexit.register(_stop_at_exit)
    futures.install()
    loader.install(_begin_worker)
    notebook.install(_rest, _stop_at_exit)


def _hide_key_from_python() -> None:
    """Higher-order operators (cond, flex_attention) look up their kernels in Python, and have none for our dispatch key."""
    compute = getattr(torch._ops, "_compute_keyset", None)
    if compute is None or not hasattr(torch._C.DispatchKeySet, "remove"):  # before torch 2.0
        return
    key = torch._C._dispatch_key_parse("Fake")
    torch._ops._compute_keyset = lambda *arguments: compute(*arguments).remove(key)


def _note_meshes() -> None:
    mesh = sys.modules["torch.distributed.device_mesh"].DeviceMesh
    mesh.__init__ = shards.note_meshes(mesh.__init__)


def _standard_library(directory: str) -> list[str]:
    found = []
    for entry in os.scandir(directory):
        if entry.name not in ("site-packages", "dist-packages"):
            found.append(entry.path + os.sep if entry.is_dir() else entry.path)
    return found


def start(config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
          mode: str | None = None, strict: bool = False, existing: str | None = None, executions: bool = False,
          process: str | None = None, first_step: int = 0) -> None:
    """See opdump.start. Arguments that are None come from the environment. With `text`, the configuration itself, `config` is
    its name in messages. `model_name` is for directories named after a model. `executions`: only executions of compiled
    models are recorded. `process` distinguishes processes that record into one rank."""
    global _settings
    if _settings is not None and not process:
        raise RuntimeError("a recording is in progress: stop it first")
    settings = {"config": config and (config if text else os.path.abspath(config)), "text": text, "dialect": dialect,
                "model_name": model_name, "mode": mode, "strict": strict, "existing": existing}
    _forget()
    hooks.record_executions(executions)
    if (original := _stderr.kept()) >= 0:
        hooks.keep_stderr(original)
    hooks.start(**settings, process=process, first_step=first_step)
    if process:
        # Such a process ends with os._exit: atexit functions do not run there.
        from multiprocessing import util

        util.Finalize(None, _stop_at_exit, exitpriority=10)
    _settings = {**settings, "executions": executions}
    for name, enabled in _name_flags.items():
        hooks.flag_name(name, enabled)
    _install_once(executions)
    if hooks.keeps_failures():
        _watch_indexing()


def is_recording() -> bool:
    return _settings is not None


def _forget() -> None:
    """Resets all state, so that the same program has the same names and steps in each recording."""
    global _model_named, _last_failure
    _model_named = False
    _root_names.clear()
    _roots.clear()
    _naming_calls.clear()
    loader.forget()
    _last_failure = uncaught_exception()


def _operator_type(target: object) -> str | None:
    """The type of the operators that a function of torch runs: "relu" of torch.relu, torch.ops.aten.relu.default."""
    is_method = issubclass(torch.Tensor, getattr(target, "__objclass__", str))
    is_of_torch = (getattr(target, "__module__", None) or "").partition(".")[0] == "torch"
    if isinstance(target, type) or not callable(target) or not (is_method or is_of_torch):
        return None
    return getattr(target, "__name__", "").partition(".")[0] or None


def set_dump(target: object, enabled: bool) -> None:
    """See opdump.set_dump."""
    if not isinstance(target, (torch.nn.Module, str)):
        operator_type = _operator_type(target)
        if operator_type is None:
            raise ValueError(
                'The "target" parameter must be an instance of torch.nn.Module, a function of torch or the name of an operator, '
                f"but got an instance of {type(target)}."
            )
        target = operator_type
    if not isinstance(enabled, bool):
        raise ValueError('The "enabled" parameter must be bool.')
    if isinstance(target, str):
        _name_flags[target] = enabled
        hooks.flag_name(target, enabled)
        return
    for module in target.modules():
        _flags[module] = enabled
        hooks.flag_module(module)


def _is_being_spawned() -> bool:
    """Whether multiprocessing is still building this process, or keeps it to fork others from."""
    process = sys.modules.get("multiprocessing.process")
    return bool(process and getattr(process.current_process(), "_inheriting", False))


def _process_name() -> str | None:
    """The name of a process started by multiprocessing, else None. Such processes share the environment and the rank."""
    process = sys.modules.get("multiprocessing.process")
    name = process.current_process().name if process else "MainProcess"
    return None if name == "MainProcess" else name


_LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch")


def _is_launcher() -> bool:
    """Whether this process is torchrun: it starts the program's processes, computes nothing and has no rank."""
    words = iter(getattr(sys, "orig_argv", ["", *sys.argv])[1:])
    for word in words:
        if word == "-m":
            return next(words, "") in _LAUNCHERS
        if not word.startswith("-"):
            return os.path.basename(word) in _LAUNCHERS
    return False


def start_from_environment() -> None:
    """Starts with the configuration named by the environment. A wrong one ends the program before it begins."""
    global _spawning
    if _is_launcher():
        return
    if not _is_being_spawned():
        return _start_from_environment(_process_name())
    from multiprocessing import process

    _spawning = True
    _install_once()
    process.BaseProcess._bootstrap = _begin_spawned(process.BaseProcess._bootstrap)


def _begin_spawned(bootstrap):
    """Detects that a spawned process has reached its function. Spawned processes have no after-fork hooks."""

    @functools.wraps(bootstrap)
    def begun(self, *args, **kwargs):
        if _spawning and not isinstance(getattr(self, "_target", None), loader.WorkerLoop):
            _end_spawning(_process_name())
        return bootstrap(self, *args, **kwargs)

    return begun


def _begin_worker(name: str, step: int) -> None:
    """Called in a loader's worker. A forked worker begins with its first operator."""
    global _worker_name
    _worker_name = name
    if _spawning:
        _end_spawning(name, step)


def _end_spawning(name: str | None, step: int = 0) -> None:
    global _spawning
    _spawning = False
    _start_from_environment(name, step)


def _start_from_environment(process: str | None, first_step: int = 0) -> None:
    try:
        start(None, process=process, first_step=first_step)
    except ValueError as error:
        print_line(str(error))
        raise SystemExit(2) from None
    except Exception as error:
        print_line(f"nothing is recorded: {error}")


def stop(failure: BaseException | None = None) -> bool:
    """See opdump.stop. `failure` ended the recorded code, unless it existed before the recording."""
    global _settings, _last_failure
    _settings = None
    if isinstance(failure, (Exception, KeyboardInterrupt)) and failure is not _last_failure:
        hooks.cut_short()
    _last_failure = None  # it holds the variables of the program where it was raised
    return hooks.stop()


def _rest() -> None:
    with _nothing_reaches_the_program("a cell of a notebook"):
        hooks.rest()


def _stop_at_exit() -> None:
    """The exception that is about to end a process of multiprocessing, if any."""
    stop(sys.exc_info()[1] or uncaught_exception())


def _start_in_child() -> None:
    """Called in a forked process before its first operator: it records on its own, under its own name."""
    import multiprocessing

    name = _worker_name or multiprocessing.current_process().name
    if _settings is None or multiprocessing.parent_process() is None:
        return  # os.fork() by hand: nobody would close the recording
    try:
        start(**_settings, process=name, first_step=hooks.current_step())
    except Exception as error:
        print_line(f"nothing is recorded of {name}: {error}")
