"""Ranks of a program that starts its processes itself, as torch.multiprocessing.spawn() does: nobody knows their ranks before
init_process_group(). From then on each of them is recorded as its rank. The process that started them and has the folder of
rank 0 until then makes room: while it starts processes its recording rests, so that a rank can put it aside."""

from __future__ import annotations

import contextlib
import functools
import glob
import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from multiprocessing import process as _process
from typing import Any

from opdump._frames import leave_no_frame
from opdump._imports import call_after, report_to_run
from opdump._stderr import print_line
from opdump._torch import loader, processes
from opdump._torch import recorder as hooks
from opdump._torch.unrecorded import nothing_reaches_the_program

_PARENT = "opdump_parent"  # the folder of what the process that started the ranks records; readers of the ranks leave it out
_APART = "OPDUMP_APART"  # tells the recorder the folder, within the one that the configuration names
_MODULES = ("torch.distributed", "torch.distributed.distributed_c10d", "torch.distributed.device_mesh")


class Status:
    """The status file of a process's recording, as it is now."""

    def __init__(self, path: str, content: dict[str, Any]) -> None:
        self.path, self.content = path, content
        self.directory = os.path.dirname(path)  # of the rank

    @property
    def is_empty(self) -> bool:
        return not self.content["call_count"]

    @property
    def rests(self) -> bool:
        return self.content["state"] != "recording"


class Ranks:
    """`begin(process)` begins another recording of this process, which has none at the moment."""

    def __init__(self, begin: Callable[[str | None], None]) -> None:
        self._begin = begin
        self._root = ""  # of the recordings; a forked process knows that of its parent
        self._process: str | None = None  # the name of this process in its recording
        self._is_apart = False  # from the ranks that it has started
        self._is_worker = False  # of a loader
        self._rank_of = self._spawner = 0  # the process that has become a rank, and the one that starts others

    def install(self) -> None:
        base: Any = _process.BaseProcess
        base.start = self._around(base.start, self._before_start)
        base.join = self._around(base.join, after=self._look_for_ranks)
        call_after("torch.distributed.distributed_c10d", self._watch_groups)
        for name in ("execv", "execve"):
            setattr(os, name, self._around_exec(getattr(os, name)))

    def note_recording(self, process: str | None, is_worker: bool) -> None:
        """A recording from the environment has begun in this process."""
        self._root, self._process, self._is_worker = hooks.directory(), process, is_worker
        if process is None and processes.is_launched_as_rank():
            os.environ.setdefault("OPDUMP_RANK", processes.launched_rank())  # processes that it starts are of this rank

    def decides(self) -> bool:
        """Whether what comes before the next operator is for this process to decide. Called before it."""
        if self._rank_of == os.getpid():
            return True
        if self._spawner != os.getpid():
            return False
        self._look_for_ranks()
        return True

    def end(self) -> None:
        """The recording of this process is about to be stopped."""
        self._look_for_ranks(restarts=False)
        if self._is_apart and hooks.directory():
            hooks.rest()
            if (own := self._find(os.getpid())) and own.is_empty:
                self._leave(own)
                with contextlib.suppress(OSError):  # there is something else
                    os.rmdir(self._root)

    # ---- the process that starts others

    def _before_start(self, process: Any) -> None:
        is_main = processes.process_name() is None and self._process is None and "OPDUMP_RANK" not in os.environ
        if is_main and hooks.directory() and not isinstance(getattr(process, "_target", None), loader.WorkerLoop):
            hooks.rest()
            hooks.await_operator()
            self._spawner = os.getpid()

    def _look_for_ranks(self, *_: Any, restarts: bool = True) -> None:
        """Whether a process that this one has started has taken its place: it goes on in a folder of its own."""
        if self._spawner != os.getpid() or not hooks.directory() or self._find(os.getpid()):
            return
        if any(not status.content["process"] for status in self._statuses()):
            self._spawner = 0
            hooks.abandon()
            if restarts:
                self._is_apart = True
                os.environ[_APART] = self._free_place()
                try:
                    self._begin(None)
                finally:
                    del os.environ[_APART]

    # ---- the processes

    def _watch_groups(self) -> None:
        original = sys.modules["torch.distributed.distributed_c10d"].init_process_group
        begun = self._around(original, self._before_group, self._after_group)
        for module in filter(None, map(sys.modules.get, _MODULES)):
            if getattr(module, "init_process_group", None) is original:
                module.init_process_group = begun  # type: ignore[attr-defined]

    def _may_be_rank(self) -> bool:
        return bool(self._root and processes.process_name() and not self._is_worker and "OPDUMP_RANK" not in os.environ)

    def _before_group(self, *_: Any) -> None:
        """No process comes back from there before all have been here: a rank may then move what they have recorded."""
        if self._may_be_rank():
            hooks.rest()

    def _after_group(self, *_: Any) -> None:
        import torch.distributed

        if not self._may_be_rank() or not torch.distributed.is_initialized() or torch.distributed.get_world_size() == 1:
            return
        rank, name = torch.distributed.get_rank(), processes.process_name()
        parent = _process.parent_process()
        starter = self._find(parent.pid) if parent and parent.pid else None
        if starter and (starter.content["process"] or starter.content["time_directory"] or not starter.rests):
            if not starter.rests:
                print_line(f"{name} is recorded under this name, not as rank {rank}: the process that started it runs operators, too")
            return
        own = self._find(os.getpid())
        hooks.abandon()
        if own and own.is_empty:
            _remove(own)
        elif own:
            print_line(f"{name} is rank {rank}: what it ran before init_process_group ({own.content['operator_count']} operators) is "
                       f"recorded apart from that, as Default/{name}")
        self._put_aside(os.path.join(self._root, f"rank_{rank}"))
        os.environ["OPDUMP_RANK"] = str(rank)  # also of the processes that this one starts
        self._rank_of = os.getpid()
        self._begin(None)

    def _put_aside(self, directory: str) -> None:
        """What the process that started the ranks, and they themselves, have recorded in the folder of one of them."""
        for status in self._statuses(directory):
            if status.is_empty and status.rests:
                _remove(status)
        remaining = list(self._statuses(directory))
        if not remaining or not all(status.rests for status in remaining):
            return
        place = os.path.join(self._root, self._free_place())
        os.mkdir(place, 0o700)
        os.rename(directory, os.path.join(place, os.path.basename(directory)))
        print_line(f"what ran before the ranks had their numbers is recorded in {place}, apart from them")

    def _free_place(self) -> str:
        """The name of a folder that is not there. What a recording that is being replaced has left goes away."""
        for number in itertools.count(1):
            name = _PARENT if number == 1 else f"{_PARENT}-{number}"
            place = os.path.join(self._root, name)
            if os.environ.get("OPDUMP_EXISTING") == "replace" and not any(self._statuses(os.path.join(place, "rank_0"))):
                shutil.rmtree(place, ignore_errors=True)
            if not os.path.lexists(place):
                return name
        raise AssertionError

    # ---- a process that becomes another program

    def _around_exec(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def execute(*args: Any) -> Any:
            undo = self._before_exec()
            try:
                return function(*args)
            except BaseException as error:
                undo()
                leave_no_frame(error)
                raise

        return execute

    def _before_exec(self) -> Callable[[], object]:
        """Returns what to do if there is no such program."""
        with nothing_reaches_the_program("the end of this program"):
            if self._root and hooks.directory():
                hooks.rest()
                own = self._find(os.getpid())
                if own and own.is_empty:
                    self._leave(own)
                    return lambda: self._begin(self._process)
                if own:
                    report_to_run("-")
                    return lambda: report_to_run("+")
        return lambda: None

    # ---- both

    def _leave(self, own: Status) -> None:
        hooks.abandon()
        _remove(own)

    def _statuses(self, directory: str | None = None) -> Iterator[Status]:
        """Those of this run, in the folder of a rank or in all."""
        directories = glob.escape(directory) if directory else os.path.join(glob.escape(self._root), "rank_*")
        for path in sorted(glob.glob(os.path.join(directories, "opdump_status*.json"))):
            status = _read(path)
            if status and status.content["run_id"] == os.environ.get("OPDUMP_RUN_ID", status.content["run_id"]):
                yield status

    def _find(self, pid: int) -> Status | None:
        return next((status for status in self._statuses() if status.content["pid"] == pid), None)

    def _around(self, function: Callable[..., Any], before: Callable[..., None] = lambda *_: None,
                after: Callable[..., None] = lambda *_: None) -> Callable[..., Any]:
        @functools.wraps(function)
        def around(*args: Any, **kwargs: Any) -> Any:
            with nothing_reaches_the_program("processes that the program starts"):
                before(*args[:1])
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise
            with nothing_reaches_the_program("processes that the program starts"):
                after(*args[:1])
            return result

        return around


def _read(path: str) -> Status | None:
    try:
        with open(path, encoding="utf-8") as file:
            return Status(path, json.load(file))
    except (OSError, ValueError):  # another process has just removed it
        return None


def _remove(status: Status) -> None:
    """A recording that has nothing, and the folder if it was the only one there."""
    os.unlink(status.path)
    if status.content["earlier"] or glob.glob(os.path.join(glob.escape(status.directory), "opdump_status*.json")):
        return
    shutil.rmtree(os.path.join(status.directory, ".dump_metadata"), ignore_errors=True)
    with contextlib.suppress(OSError):  # others have files there
        os.unlink(os.path.join(status.directory, "operators.jsonl"))
        os.rmdir(status.directory)
