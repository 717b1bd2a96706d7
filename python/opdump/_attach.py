"""Hooks a complete torch: modules say their names, threads take part, memory that leaves torch is settled first."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import sysconfig
import threading
import weakref

import torch

from opdump import _on_import
from opdump import _torch as hooks

# Ways for a program to get at the memory of a tensor without an operator.
_EXPORTS = ("numpy", "data_ptr", "storage", "untyped_storage", "_storage", "_typed_storage", "__dlpack__")

# And ways to write to it: methods of storages.
_FILLS = ("_set_from_file", "byteswap", "_byteswap")

_settings: dict | None = None  # of the recording under way
_model_named = False
_root_names: dict[str, int] = {}
_flags: weakref.WeakKeyDictionary[torch.nn.Module, bool] = weakref.WeakKeyDictionary()  # set_dump() by module
_name_flags: dict[str, bool] = {}  # and by name
_naming_calls: weakref.WeakKeyDictionary[torch.nn.Module, int] = weakref.WeakKeyDictionary()  # by model, so far
_optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()


def _find_path(ancestor: torch.nn.Module, module: torch.nn.Module) -> str | None:
    """Where `module` lies below `ancestor`: "features-Sequential/6-Conv2d", or None."""
    for name, found in ancestor.named_modules():
        if found is module and name:
            parts, at = [], ancestor
            for part in name.split("."):
                at = at._modules[part]
                parts.append(f"{part}-{type(at).__name__}")
            return "/".join(parts)
    return None


def _name_root(module: torch.nn.Module) -> str:
    """The name of a module that nobody called: "" for the model -- the first one with children -- else its class."""
    global _model_named
    if not _model_named and next(module.children(), None) is not None:
        _model_named = True
        return ""
    name = type(module).__name__
    number = _root_names[name] = _root_names.get(name, -1) + 1
    return f"{name}_{number}" if number else name


def _tell_calls(call):
    """A Python function, and not a faster one in C, because programs treat Module.__call__ as one: torch.fx takes it out
    of the class and puts it back, others ask for its signature."""
    enter, leave = hooks.enter_module, hooks.leave_module

    @functools.wraps(call)
    def __call__(self, *args, **kwargs):
        if enter(self):
            _name_tensors(self, args, kwargs)
        try:
            return call(self, *args, **kwargs)
        finally:
            leave()

    return __call__


def _tell_backward(function):
    """What such a function runs before the pass itself belongs to it, too."""
    enter, leave = hooks.enter_backward, hooks.leave_backward

    @functools.wraps(function)
    def told(*args, **kwargs):
        enter()
        try:
            return function(*args, **kwargs)
        finally:
            leave()

    return told


def _name_tensors(model: torch.nn.Module, args: tuple, kwargs: dict) -> None:
    """Tells what the program calls the weights of a model and its inputs of this call."""
    try:
        calls = _naming_calls[model] = _naming_calls.get(model, 0) + 1
        if calls <= 3:  # gradients and an optimizer's state come into being during the first steps, and then stay
            _name_weights(model)
        inputs = dict(zip(_input_names(type(model)), args)) | kwargs
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor):
                _name_tensor(value, name, False)
    except Exception as error:  # a name is not worth the program
        hooks.report_unseen("names of inputs and weights", repr(error))


def _name_weights(model: torch.nn.Module) -> None:
    names = {}
    for name, tensor in model.named_buffers():
        _name_tensor(tensor, name, True)
    for name, tensor in model.named_parameters():
        names[tensor] = name
        _name_tensor(tensor, name, True)
        if tensor.grad is not None:
            _name_tensor(tensor.grad, f"grad.{name}", False)
    for optimizer in _optimizers:
        for tensor, state in optimizer.state.items():
            for key, value in state.items() if tensor in names else ():
                if isinstance(value, torch.Tensor):
                    _name_tensor(value, f"{key}.{names[tensor]}", False)


def _name_tensor(tensor: torch.Tensor, name: str, is_weight: bool) -> None:
    if tensor.layout == torch.strided and type(tensor) in (torch.Tensor, torch.nn.Parameter):
        hooks.name_tensor(_storage_of(tensor)._cdata, name, is_weight)


@functools.lru_cache
def _input_names(model: type) -> tuple[str, ...]:
    return tuple(inspect.signature(model.forward).parameters)[1:]


def _settle_first(function):
    @functools.wraps(function)
    def settled(self, *args, **kwargs):
        if hooks.active():
            try:
                hooks.settle(_storage_of(self)._cdata)
            except Exception:  # no storage: a sparse or wrapped tensor
                pass
        return function(self, *args, **kwargs)

    return settled


def _settle_and_note(function):
    """Around a method of a storage that fills its memory without an operator: torch.load reads a file into it."""

    @functools.wraps(function)
    def noted(self, *args, **kwargs):
        if hooks.active():
            hooks.settle(self._cdata)
        try:
            return function(self, *args, **kwargs)
        finally:
            hooks.written(self._cdata)

    return noted


_storage_of = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor.storage


def _count_optimizer_steps(init):
    @functools.wraps(init)
    def counted(self, *args, **kwargs):
        hooks.count_optimizer_steps()
        _optimizers.add(self)
        init(self, *args, **kwargs)

    return counted


def _join(bootstrap):
    @functools.wraps(bootstrap)
    def joined(self):
        hooks.join_thread()
        bootstrap(self)

    return joined


def _install() -> None:
    """Puts the hooks in place, once per process."""
    prefixes = [os.path.dirname(torch.__file__), os.path.dirname(__file__), sysconfig.get_path("stdlib")]
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    # The standard library's directory may contain the packages: those are the user's, so it is listed file by file.
    stdlib = [p for p in _standard_library(prefixes.pop()) if p not in packages]
    hooks.setup(
        find_path=_find_path,
        name_root=_name_root,
        start_in_child=_start_in_child,
        find_flag=_flags.get,
        library_prefixes=[p + os.sep for p in prefixes] + stdlib,
        working_directory=os.getcwd() + os.sep,
    )
    torch.nn.Module.__call__ = _tell_calls(torch.nn.Module.__call__)
    for name in ("backward", "grad"):
        setattr(torch.autograd, name, _tell_backward(getattr(torch.autograd, name)))
    torch.optim.Optimizer.__init__ = _count_optimizer_steps(torch.optim.Optimizer.__init__)
    threading.Thread._bootstrap_inner = _join(threading.Thread._bootstrap_inner)
    for name in _EXPORTS:
        if hasattr(torch.Tensor, name):
            setattr(torch.Tensor, name, _settle_first(getattr(torch.Tensor, name)))
    storage = getattr(torch, "UntypedStorage", None) or getattr(torch, "_UntypedStorage", None)
    for name in _FILLS:
        if hasattr(storage, name):
            setattr(storage, name, _settle_and_note(getattr(storage, name)))
    if hasattr(torch, "compile"):
        _warn_of_compile()
    atexit.register(stop)


def _standard_library(directory: str) -> list[str]:
    found = []
    for entry in os.scandir(directory):
        if entry.name not in ("site-packages", "dist-packages"):
            found.append(entry.path + os.sep if entry.is_dir() else entry.path)
    return found


def _warn_of_compile() -> None:
    original = torch.compile

    @functools.wraps(original)
    def compile(*args, **kwargs):
        if not getattr(kwargs.get("backend"), "shows_operators", False):
            hooks.report_unseen("torch.compile", "operators inside compiled graphs cannot be seen; set TORCHDYNAMO_DISABLE=1")
        return original(*args, **kwargs)

    torch.compile = compile


def start(config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
          mode: str | None = None, strict: bool = False, process: str | None = None, first_step: int = 0) -> None:
    """See opdump.start. What is None comes from the environment. With `text`, which is the configuration itself, `config` is
    what messages call it. `model_name` is the model's in directories that bear one. `process` tells apart those that record
    into one rank."""
    global _settings
    if _settings is not None and not process:
        raise RuntimeError("a recording is under way: stop it first")
    settings = {"config": config and (config if text else os.path.abspath(config)), "text": text, "dialect": dialect,
                "model_name": model_name, "mode": mode, "strict": strict}
    hooks.start(**settings, process=process, first_step=first_step)
    if process:
        # Such a process ends with os._exit: atexit functions do not run there.
        from multiprocessing import util

        util.Finalize(None, stop, exitpriority=10)
    _settings = settings
    _naming_calls.clear()
    for name, enabled in _name_flags.items():
        hooks.flag_name(name, enabled)
    if not getattr(_install, "done", False):
        _install.done = True
        _install()


def set_dump(target: torch.nn.Module | str, enabled: bool) -> None:
    """See opdump.set_dump."""
    if not isinstance(target, (torch.nn.Module, str)):
        raise ValueError(
            'The "target" parameter must be an instance of torch.nn.Module or the name of an operator, but got an instance '
            f"of {type(target)}."
        )
    if not isinstance(enabled, bool):
        raise ValueError('The "enabled" parameter must be bool.')
    if isinstance(target, str):
        _name_flags[target] = enabled
        hooks.flag_name(target, enabled)
        return
    for module in target.modules():
        _flags[module] = enabled
        hooks.flag_module(module)


def _spawned_name() -> str | None:
    """The name of a process that multiprocessing started, or None in others: they share the environment and so the rank."""
    process = sys.modules.get("multiprocessing.process")
    name = process.current_process().name if process else "MainProcess"
    return None if name == "MainProcess" else name


def start_from_environment() -> None:
    """Starts with the configuration the environment names; a wrong one ends the program before it begins."""
    try:
        start(None, process=_spawned_name())
    except ValueError as error:
        print(f"opdump: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except RuntimeError as error:
        print(f"opdump: nothing is recorded: {error}", file=sys.stderr)


def stop() -> bool:
    """See opdump.stop."""
    global _settings
    _settings = None
    return hooks.stop()


def _start_in_child() -> None:
    """Called in a forked process before its first operator: it records on its own, under its own name."""
    import multiprocessing

    worker = torch.utils.data.get_worker_info()
    name = f"worker{worker.id}" if worker else multiprocessing.current_process().name
    if _settings is None or (worker is None and multiprocessing.parent_process() is None):
        return  # os.fork() by hand: nobody would close the recording
    start(**_settings, process=name, first_step=hooks.current_step())
