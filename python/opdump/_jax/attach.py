"""Records the modules of Flax: `attachment` starts and ends the recordings of this process."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import jax

from opdump import _interface as c
from opdump import _stderr
from opdump._frames import describe_failure, uncaught_exception
from opdump._imports import call_after, report_to_run
from opdump._jax import modules, taps
from opdump._jax.functions import Function
from opdump._jax.lines import lines
from opdump._jax.recording import Clock, Recording
from opdump._jax.sites import OPTIMIZER
from opdump._stderr import print_line


class Attachment:
    """What this process knows of its recordings."""

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._is_installed = False

    def install(self) -> None:
        """Once: must come before the program takes `jit` from JAX. Records nothing."""
        if self._is_installed:
            return
        self._is_installed = True
        taps.install()
        taps.taps.run, taps.taps.miss = self._run, self._miss
        modules.modules.find_recording = self._find_recording
        jax.jit = _watching(jax.jit, self._find_recording)
        call_after("flax.linen", modules.install_linen)
        call_after("flax.nnx", modules.install_nnx)
        call_after("optax", _watch_optimizers)
        atexit.register(self._stop_at_exit)
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def start(self, config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
              mode: str | None = None, strict: bool = False, existing: str | None = None) -> None:
        """See opdump.start and opdump._torch.attach."""
        if self._recording is not None:
            raise RuntimeError("a recording is in progress: stop it first")
        if existing is not None and existing not in c.EXISTING[1:]:
            raise ValueError(f"existing is '{existing}'; expected 'refuse', 'replace' or 'append'")
        self.install()
        environment, behaviour = os.environ, c.EXISTING.index(existing or "")
        if config is None:
            config = environment.get("OPDUMP_CONFIG") or None
            if config is None:
                config, behaviour = environment.get("MINDSPORE_DUMP_CONFIG") or None, behaviour or c.EXISTING.index("original")
        options = c.Options(
            config_path=c.encode(config), config_text=c.encode(text), dialect=c.encode(dialect or environment.get("OPDUMP_DIALECT") or None),
            mode=c.encode(mode or environment.get("OPDUMP_MODE") or None), runtime=f"jax {jax.__version__}".encode(),
            strict=strict or environment.get("OPDUMP_STRICT", "0") not in ("", "0"), existing=behaviour, log=_log, reports_graph=1, is_launched=1)
        session = ctypes.c_void_p()
        status = c.open_session(options, session)
        if status != 0:
            report_to_run("!")
            raise _KINDS.get(status, RuntimeError)((c.last_error() or b"").decode("utf-8", "replace"))
        if not session:  # the configuration asks for nothing
            return
        name = c.encode(model_name or _program_name())
        c.define_graph(session, c.GraphInfo(graph_id=0, name=name, file_name=name))
        for fact, value in (("python", sys.executable), ("jax backend", jax.default_backend())):
            c.describe_run(session, fact.encode(), c.encode(value))
        lines.begin()
        self._recording = Recording(session, "Default")
        report_to_run("+")

    def stop(self, failure: BaseException | None = None) -> bool:
        """See opdump.stop."""
        recording, self._recording = self._recording, None
        if recording is None:
            return True
        is_cut = isinstance(failure, (Exception, KeyboardInterrupt))
        if is_cut:
            c.raise_alarm(recording.session, b"exception", c.encode(describe_failure(failure)))
        c.mark_step(recording.session, c.STEP_CUT if is_cut else recording.open_step())
        status = c.close(recording.session)
        report_to_run("-")
        return status == 0

    def step(self) -> None:
        if self._recording is not None:
            self._recording.tick(Clock.EXPLICIT_CALLS)

    def is_recording(self) -> bool:
        return self._recording is not None

    def active(self) -> bool:
        return self._recording is not None and self._recording.is_active

    def current_step(self) -> int:
        return self._recording.step if self._recording is not None else 0

    def start_from_environment(self) -> None:
        """Starts with the configuration named by the environment. A wrong one ends the program before it begins."""
        process = sys.modules.get("multiprocessing.process")
        if process is not None and process.current_process().name != "MainProcess":
            return
        try:
            self.start(None)
        except ValueError as error:
            print_line(str(error))
            raise SystemExit(2) from None

    def make_config(self, output: str, *, steps: str, ops: str | None, module: str | None, budget: str | None, tensors: bool,
                    statistics: bool) -> str:
        """The configuration for a request. Raises ValueError if one of its values is wrong."""
        request = c.Request(content=int(tensors) | int(statistics) << 1, output=c.encode(output), steps=c.encode(steps), ops=c.encode(ops),
                            module=c.encode(module), budget=c.encode(budget))
        text = ctypes.c_char_p()
        status = c.make_config(request, text)
        if status != 0:
            raise _KINDS.get(status, RuntimeError)((c.last_error() or b"").decode("utf-8", "replace"))
        return (text.value or b"").decode("utf-8", "surrogateescape")

    def _find_recording(self) -> Recording | None:
        return self._recording

    def _run(self, site: Any, arrays: tuple[Any, ...]) -> None:
        recording = self._recording
        if recording is not None:
            recording.guard("a module", lambda: recording.run(site, arrays))

    def _miss(self) -> None:
        if self._recording is not None:
            self._recording.report_unseen("modules in a compiled function", "it was compiled ahead of time, by a loop outside of jax.jit, "
                                                                            "or was given to jax.jit before the recording")

    def _leave_to_parent(self) -> None:
        """The session's threads are gone and its locks may be held: the child must not touch it."""
        recording, self._recording = self._recording, None
        if recording is not None:
            c.abandon(recording.session)

    def _stop_at_exit(self) -> None:
        self.stop(uncaught_exception())


_KINDS: dict[int, type[Exception]] = {c.ERROR_CONFIG: ValueError, c.ERROR_EXISTS: FileExistsError, c.ERROR_IO: OSError}


@c.Log
def _log(_user: Any, _level: int, line: bytes) -> None:
    _stderr.print_line(line.decode("utf-8", "replace"))


def _watching(jit: Callable[..., Any], find_recording: Callable[[], Recording | None]) -> Callable[..., Any]:
    """In place of jax.jit."""

    @functools.wraps(jit)
    def watched(*args: Any, **options: Any) -> Any:
        made = jit(*args, **options)
        if not args:  # it has options only, and waits for the function
            return lambda function: Function(made(function), jit, options, find_recording)
        return Function(made, jit, options, find_recording)

    return watched


def _watch_optimizers() -> None:
    """A step ends when an optimizer has changed the parameters."""
    optax: Any = sys.modules["optax"]
    original = optax.apply_updates

    @functools.wraps(original)
    def apply_updates(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if attachment.is_recording():
            taps.bind([], OPTIMIZER)
        return result

    optax.apply_updates = apply_updates


def _program_name() -> str:
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None) or (sys.argv[0] if sys.argv else "")
    return os.path.splitext(os.path.basename(path))[0] or "program"


attachment = Attachment()
