"""The stderr that this process began with: pytest, notebooks and programs put files of their own in its place, in which
nothing of ours may appear, or be lost.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

from __future__ import annotations

import os
import sys

_HIGH = 768  # what programs open seldom has such a number
_kept = -1
_file: tuple[int, int] | None = None  # what it was: a program may close all descriptors and open others


def keep() -> None:
    """Duplicates stderr, once. Called when the process begins, because the program may redirect it before it imports torch."""
    global _kept, _file
    if _kept >= 0:
        return
    import fcntl

    messages = _open_messages()
    for lowest in (_HIGH, 3):  # a process may be limited to fewer
        try:
            _kept = fcntl.fcntl(2 if messages is None else messages, fcntl.F_DUPFD_CLOEXEC, lowest)
            _file = _identity(_kept)
            break
        except OSError:  # or it is closed
            pass
    if messages is not None:
        os.close(messages)


def _open_messages() -> int | None:
    """What `opdump run` prints at its end, if this process has another stderr than it: the program may read that."""
    try:
        if os.environ.get("OPDUMP_RUN_STDERR", _name(2)) != _name(2):
            return os.open(os.environ["OPDUMP_RUN_REPORT"] + ".messages", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except (OSError, KeyError):  # stderr is closed, or `opdump run` has ended or runs on another machine
        pass
    return None


def _name(fd: int) -> str:
    return "{}:{}".format(*_identity(fd))


def kept() -> int:
    """The duplicate, or -1 if there is none: the process was not started by `opdump run`."""
    try:
        return _kept if _kept >= 0 and _identity(_kept) == _file else -1
    except OSError:
        return -1


def print_line(text: str) -> None:
    """Prints a line of ours."""
    line = f"opdump: {text}\n"
    fd = kept()
    try:
        if fd >= 0:
            os.write(fd, line.encode("utf-8", "backslashreplace"))
        elif sys.stderr is not None:
            sys.stderr.write(line)
            sys.stderr.flush()
    except OSError:  # nobody reads it any more; the program goes on
        pass


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
