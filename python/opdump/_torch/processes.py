"""What this process is in the program: the launcher, the main process, or one that multiprocessing started."""

from __future__ import annotations

import os
import sys

_LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch")


def is_launcher() -> bool:
    """Whether this process is torchrun: it starts the program's processes, computes nothing and has no rank."""
    words = iter(getattr(sys, "orig_argv", ["", *sys.argv])[1:])
    for word in words:
        if word == "-m":
            return next(words, "") in _LAUNCHERS
        if not word.startswith("-"):
            return os.path.basename(word) in _LAUNCHERS
    return False


def is_being_spawned() -> bool:
    """Whether multiprocessing is still building this process, or keeps it to fork others from."""
    process = sys.modules.get("multiprocessing.process")
    return bool(process and getattr(process.current_process(), "_inheriting", False))


def process_name() -> str | None:
    """The name of a process started by multiprocessing, else None. Such processes share the environment and the rank."""
    process = sys.modules.get("multiprocessing.process")
    name = process.current_process().name if process else "MainProcess"
    return None if name == "MainProcess" else name
