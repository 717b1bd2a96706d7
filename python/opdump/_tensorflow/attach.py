"""Records TensorFlow: `attachment` starts and ends the recordings of this process."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys

import tensorflow as tf

from opdump._frames import uncaught_exception
from opdump._stderr import print_line
from opdump._tensorflow import adapter, patches
from opdump._tensorflow.reporter import reporter

_EXISTING = {None: 0, "refuse": 1, "replace": 2, "append": 3, "original": 4}


class Attachment:
    """What this process knows of its recordings."""

    def __init__(self) -> None:
        self._is_loaded = False

    def load(self) -> adapter.Library:
        """Loads the recorder and installs the hooks, once. Must come before the program's first operator."""
        if not self._is_loaded:
            reporter.open()
            self._is_loaded = True
            patches.install(runs_as_written=bool(os.environ.get("OPDUMP_GOLDEN")))
            atexit.register(self._stop_at_exit)
        return reporter.library

    def start(self, config: str | None, *, text: str | None = None, dialect: str | None = None, model_name: str | None = None,
              mode: str | None = None, strict: bool = False, existing: str | None = None, process: str | None = None) -> None:
        """See opdump.start and opdump._torch.attach."""
        if reporter.is_recording:
            raise RuntimeError("a recording is in progress: stop it first")
        library = self.load()
        options = adapter.Options(
            size=ctypes.sizeof(adapter.Options), config_path=_encoded(config), config_text=_encoded(text),
            dialect=_encoded(dialect), mode=_encoded(mode), process=_encoded(process), strict=int(strict),
            existing=_EXISTING[existing], runtime=f"tensorflow {tf.__version__}".encode())
        reporter.forget()
        if status := library.start(ctypes.byref(options), _encoded(model_name or _program_name())):
            kinds: dict[int, type[Exception]] = {1: ValueError, 5: FileExistsError}
            raise kinds.get(status, RuntimeError)(library.last_error())
        reporter.is_recording = True

    def stop(self, failure: BaseException | None = None) -> bool:
        """See opdump.stop."""
        if not reporter.is_recording:
            return True
        reporter.is_recording = False
        return reporter.library.stop(int(isinstance(failure, (Exception, KeyboardInterrupt)))) == 0

    def step(self) -> None:
        if reporter.is_recording:
            reporter.library.step()

    def is_recording(self) -> bool:
        return reporter.is_recording

    def active(self) -> bool:
        return reporter.is_recording and bool(reporter.library.is_active())

    def current_step(self) -> int:
        return reporter.library.current_step() if reporter.is_recording else 0

    def start_from_environment(self) -> None:
        """Starts with the configuration named by the environment. A wrong one ends the program before it begins."""
        process = sys.modules.get("multiprocessing.process")
        name = process.current_process().name if process else "MainProcess"
        try:
            self.start(None, process=None if name == "MainProcess" else name)
        except ValueError as error:
            print_line(str(error))
            raise SystemExit(2) from None

    def make_config(self, output: str, *, steps: str, ops: str | None, module: str | None, budget: str | None, tensors: bool,
                    statistics: bool) -> str:
        """The configuration for a request. Raises ValueError if one of its values is wrong."""
        return self.load().make_config(adapter.Request(
            size=ctypes.sizeof(adapter.Request), content=int(tensors) | int(statistics) << 1, output=_encoded(output),
            steps=_encoded(steps), ops=_encoded(ops), module=_encoded(module), budget=_encoded(budget)))

    def _stop_at_exit(self) -> None:
        self.stop(uncaught_exception())


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _program_name() -> str:
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None) or (sys.argv[0] if sys.argv else "")
    return os.path.splitext(os.path.basename(path))[0] or "program"


attachment = Attachment()
