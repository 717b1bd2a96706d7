"""torch.utils.data.DataLoader with workers: makes recordings independent of the order of batches, and ends workers."""

from __future__ import annotations

import functools
import inspect
import queue
from collections.abc import Callable
from typing import Any

from torch.utils.data import _utils, dataloader

from opdump._frames import leave_no_frame
from opdump._torch import recorder as hooks
from opdump._torch.unrecorded import unrecorded

_begin_worker: Callable[[str, int], None] | None = None
_sets: dict[int, int] = {}  # how many sets of workers began in a step


def install(begin_worker: Callable[[str, int], None]) -> None:
    """Calls `begin_worker(name, step)` in a worker before anything else; `step` is the step that created it."""
    global _begin_worker
    _begin_worker = begin_worker
    receiver = dataloader._MultiProcessingDataLoaderIter
    receiver.__init__ = _counted(receiver.__init__)
    # The rebuilding of batches is hidden: workers race each other, so its step is arbitrary.
    receiver._try_get_data = unrecorded(receiver._try_get_data)
    _utils.pin_memory._pin_memory_loop = unrecorded(_utils.pin_memory._pin_memory_loop)
    _utils.worker._worker_loop = WorkerLoop(_utils.worker._worker_loop)


def forget() -> None:
    """Restarts the count at 0."""
    _sets.clear()


def _counted(init: Callable[..., None]) -> Callable[..., None]:
    """Workers of two loaders in one step must not share a name."""

    @functools.wraps(init)
    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        step = hooks.current_step()
        _sets[step] = _sets.get(step, 0) + 1
        try:
            init(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise

    return counted


class WorkerLoop:
    """The function of a worker. A worker that is not forked gets it pickled, with the step and the number of its set."""

    def __init__(self, loop: Callable[..., None], step: int | None = None, number: int = 0) -> None:
        functools.update_wrapper(self, loop)
        self._loop, self._step, self._number = loop, step, number

    def __reduce__(self) -> Any:
        step = hooks.current_step()
        return _rebuild, (step, _sets.get(step, 1))

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        call = inspect.signature(self._loop).bind(*args, **kwargs)
        if _begin_worker and "worker_id" in call.arguments:
            step = hooks.current_step() if self._step is None else self._step
            number = self._number or _sets.get(step, 1)
            name = f"worker{call.arguments['worker_id']}" + (f"_{number - 1}" if number > 1 else "")
            _begin_worker(name, step)
        if "index_queue" in call.arguments:
            call.arguments["index_queue"] = _Resting(call.arguments["index_queue"])
        self._loop(*call.args, **call.kwargs)


def _rebuild(step: int, number: int) -> WorkerLoop:
    loop = _utils.worker._worker_loop
    return WorkerLoop(loop._loop if isinstance(loop, WorkerLoop) else loop, step, number)


class _Resting:
    """A worker's queue of work. A signal that runs no Python code may end a waiting worker, as happens to persistent
    workers at the end of the program. Before it waits, everything is therefore on disk and the status is "idle"."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def get(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._work.get(block=False)
        except queue.Empty:
            hooks.rest()
            return self._work.get(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)
