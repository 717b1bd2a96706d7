"""What this process is in the program: the launcher, the main process, or one that multiprocessing started."""

from __future__ import annotations

import os
import sys

_RANKS = ("RANK_ID", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")  # as in src/base/process/launcher.cc
_SIZES = ("RANK_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")
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


def launched_rank() -> str:
    """The rank that a launcher has given this process; empty if it was started alone."""
    return next(filter(None, map(os.environ.get, _RANKS)), "")


def is_launched_as_rank() -> bool:
    """Whether it is one of several that a launcher has started. SLURM also tells a process that it started alone its rank."""
    return launched_rank() not in ("", "0") or (launched_rank() == "0" and any(os.environ.get(size, "1") not in ("", "1") for size in _SIZES))
