"""Ties the recorder to the torch of this process, and starts and ends its recordings: `attachment` does."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import sysconfig
import weakref
from collections.abc import Callable
from typing import Any

import torch

from opdump._torch import recorder as hooks  # first, because it refuses a torch that is too old for the others

# isort: split
from opdump import _building, _stderr
from opdump._frames import describe_failure, uncaught_exception
from opdump._stderr import print_line
from opdump._torch import futures, loader, notebook, patches, processes, shards, spikes
from opdump._torch.names import Names, find_path
from opdump._torch.optimizers import LIBRARIES, steps_optimizer
from opdump._torch.ranks import Ranks
from opdump._torch.unrecorded import nothing_reaches_the_program


class Attachment:
    """What this process knows of the recording under way and of those to come."""

    make_config = staticmethod(hooks.make_config)
    step = staticmethod(hooks.step)
    active = staticmethod(hooks.active)
    current_step = staticmethod(hooks.current_step)
    raise_alarm = staticmethod(hooks.raise_alarm)
    log = staticmethod(spikes.log)
    mark = staticmethod(hooks.mark)

    def __init__(self) -> None:
        self._settings: dict[str, Any] | None = None  # of the recording under way
        self._last_failure: BaseException | None = None  # of the program, before it
        self._is_spawning = False  # multiprocessing still builds this process, which will be recorded
        self._worker_name: str | None = None  # if this process is a loader's worker
        self._names = Names()
        self._flags: weakref.WeakKeyDictionary[torch.nn.Module, bool] = weakref.WeakKeyDictionary()  # set_dump() by module
        self._name_flags: dict[str, bool] = {}  # and by name
        self._ranks = Ranks(self._start_again)
        self._is_installed = False
        self._watches_indexing = False

    def start(self, config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
              mode: str | None = None, strict: bool = False, existing: str | None = None, executions: bool = False,
              process: str | None = None, first_step: int = 0) -> None:
        """See opdump.start. Arguments that are None come from the environment. With `text`, the configuration itself, `config`
        is its name in messages. `model_name` is for directories named after a model. `executions`: only executions of compiled
        models are recorded. `process` distinguishes processes that record into one rank."""
        if self._settings is not None and not process:
            raise RuntimeError("a recording is in progress: stop it first")
        settings: dict[str, Any] = {"config": config and (config if text else os.path.abspath(config)), "text": text,
                                    "dialect": dialect, "model_name": model_name, "mode": mode, "strict": strict, "existing": existing}
        self._forget()
        hooks.record_executions(executions)
        if (original := _stderr.kept()) >= 0:
            hooks.keep_stderr(original)
        hooks.start(**settings, process=process, first_step=first_step)
        _building.remember_python()
        if process or processes.process_name():
            # Such a process ends with os._exit: atexit functions do not run there.
            from multiprocessing import util

            util.Finalize(None, self._stop_at_exit, exitpriority=10)
        self._settings = {**settings, "executions": executions}
        for name, enabled in self._name_flags.items():
            hooks.flag_name(name, enabled)
        self._install_once(executions)
        if hooks.keeps_failures() and not self._watches_indexing:
            self._watches_indexing = True
            patches.watch_indexing()

    def stop(self, failure: BaseException | None = None) -> bool:
        """See opdump.stop. `failure` ended the recorded code, unless it existed before the recording."""
        with nothing_reaches_the_program("processes that the program starts"):
            self._ranks.end()
        self._settings = None
        if isinstance(failure, (Exception, KeyboardInterrupt)) and failure is not self._last_failure:
            hooks.raise_alarm("exception", describe_failure(failure))
            hooks.cut_short()
        self._last_failure = None  # it holds the variables of the program where it was raised
        return hooks.stop()

    def is_recording(self) -> bool:
        return self._settings is not None

    def set_dump(self, target: Any, enabled: bool) -> None:
        """See opdump.set_dump."""
        modules = list(target.modules()) if isinstance(target, torch.nn.Module) else None
        name = target if isinstance(target, str) else "" if modules is not None else _operator_type(target)
        if name is None:
            raise ValueError(
                'The "target" parameter must be an instance of torch.nn.Module, a function of torch or the name of an operator, '
                f"but got an instance of {type(target)}."
            )
        if not isinstance(enabled, bool):
            raise ValueError('The "enabled" parameter must be bool.')
        if modules is None:
            self._name_flags[name] = enabled
            hooks.flag_name(name, enabled)
        for module in modules or ():
            self._flags[module] = enabled
            hooks.flag_module(module)

    def start_from_environment(self) -> None:
        """Starts with the configuration named by the environment. A wrong one ends the program before it begins."""
        if processes.is_launcher():
            return None
        if not processes.is_being_spawned():
            return self._start_from_environment(processes.process_name())
        from multiprocessing import process

        base: Any = process.BaseProcess
        self._is_spawning = True
        self._install_once(only_executions=False)
        base._bootstrap = self._begin_spawned(base._bootstrap)

    def _forget(self) -> None:
        """Resets all state, so that the same program has the same names and steps in each recording."""
        self._names.forget()
        loader.forget()
        self._last_failure = uncaught_exception()

    def _install_once(self, only_executions: bool) -> None:
        if not self._is_installed:
            self._is_installed = True
            with nothing_reaches_the_program("names, steps and lines of the program"):
                self._install(only_executions)

    def _install(self, only_executions: bool) -> None:
        hooks.setup(
            find_path=find_path,
            name_root=self._names.name_root,
            steps_optimizer=steps_optimizer,
            start_in_child=self._start_in_child,
            find_flag=self._flags.get,
            describe_shard=shards.describe_shard,
            library_prefixes=[*LIBRARIES, *_standard_library()],
            working_directory=os.getcwd() + os.sep,
        )
        patches.install(self._names)
        if hasattr(torch, "compile"):
            from opdump._torch import compiled

            compiled.install(only_executions)
        atexit.register(self._stop_at_exit)
        futures.install()
        self._ranks.install()
        loader.install(self._begin_worker)
        notebook.install(_rest, self._stop_at_exit)

    def _begin_spawned(self, bootstrap: Callable[..., Any]) -> Callable[..., Any]:
        """Detects that a spawned process has reached its function. Spawned processes have no after-fork hooks."""

        @functools.wraps(bootstrap)
        def begun(process: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_spawning and not isinstance(getattr(process, "_target", None), loader.WorkerLoop):
                self._end_spawning(processes.process_name())
            return bootstrap(process, *args, **kwargs)

        return begun

    def _begin_worker(self, name: str, step: int) -> None:
        """Called in a loader's worker. A forked worker begins with its first operator."""
        self._worker_name = name
        if self._is_spawning:
            self._end_spawning(name, step)

    def _end_spawning(self, name: str | None, step: int = 0) -> None:
        self._is_spawning = False
        self._start_from_environment(name, step)

    def _start_from_environment(self, process: str | None, first_step: int = 0) -> None:
        try:
            self.start(None, process=process, first_step=first_step)
            self._ranks.note_recording(process, self._worker_name is not None)
        except ValueError as error:
            print_line(str(error))
            raise SystemExit(2) from None
        except Exception as error:
            print_line(f"nothing is recorded: {error}")

    def _start_in_child(self) -> None:
        """Called in a forked process before its first operator: it records on its own, under its own name."""
        import multiprocessing

        if self._ranks.decides():
            return
        name = self._worker_name or multiprocessing.current_process().name
        if self._settings is None or multiprocessing.parent_process() is None:
            return  # os.fork() by hand: nobody would close the recording
        try:
            self.start(**self._settings, process=name, first_step=hooks.current_step())
        except Exception as error:
            print_line(f"nothing is recorded of {name}: {error}")

    def _start_again(self, process: str | None) -> None:
        """Begins another recording of this process in the place of one that has been left."""
        settings, self._settings = self._settings, None
        if settings is None:
            return
        try:
            self.start(**settings, process=process)
            self._ranks.note_recording(process, False)
        except Exception as error:
            print_line(f"nothing is recorded: {error}")

    def _stop_at_exit(self) -> None:
        """The exception that is about to end a process of multiprocessing, if any."""
        self.stop(sys.exc_info()[1] or uncaught_exception())


def _standard_library() -> list[str]:
    """File by file: its directory may contain installed packages, which belong to the user."""
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    with os.scandir(sysconfig.get_path("stdlib")) as entries:
        return [entry.path + os.sep if entry.is_dir() else entry.path for entry in entries
                if entry.name not in ("site-packages", "dist-packages") and entry.path not in packages]


def _operator_type(target: object) -> str | None:
    """The type of the operators that a function of torch runs: "relu" of torch.relu, torch.ops.aten.relu.default."""
    is_method = issubclass(torch.Tensor, getattr(target, "__objclass__", str))
    is_of_torch = (getattr(target, "__module__", None) or "").partition(".")[0] == "torch"
    if isinstance(target, type) or not callable(target) or not (is_method or is_of_torch):
        return None
    return getattr(target, "__name__", "").partition(".")[0] or None


def _rest() -> None:
    with nothing_reaches_the_program("a cell of a notebook"):
        hooks.rest()


attachment = Attachment()
