"""The processes that run recorded operators again, for `opdump blame`: one imports torch, without a part that takes a quarter
of the time and is hardly ever needed, and the others are its forks."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import stat
import sys
import types
import warnings

_LEFT_OUT = "torch._meta_registrations"  # kernels for tensors without memory
_WHOLE = "--whole"  # the program's argument if torch cannot be imported without it

_is_whole = _WHOLE in sys.argv


def import_torch() -> None:
    """If there is no torch that can be imported, ends the program, with "lacks" in the answer to its first request."""
    end_with(os.getppid())
    gc.disable()  # many objects are made, none of which is released
    if not _is_whole:
        sys.modules[_LEFT_OUT] = types.ModuleType(_LEFT_OUT)
    try:
        importlib.import_module("torch")
    except Exception as error:  # whatever the lack of a part leads to
        if not _is_whole:
            os.execv(sys.executable, [sys.executable, "-B", *sys.argv, _WHOLE])
        sys.stdin.readline()
        print(json.dumps({"ok": False, "lacks": f"{type(error).__name__}: {error}"}), flush=True)
        sys.exit(1)
    gc.freeze()
    gc.enable()


def import_rest() -> bool:
    """Whether what has failed may work now, because torch was not whole."""
    global _is_whole
    if _is_whole:
        return False
    _is_whole = True
    sys.modules.pop(_LEFT_OUT, None)
    try:
        importlib.import_module(_LEFT_OUT)
    except Exception:  # what has failed says more
        return False
    return True


def keep_memory() -> None:
    """Large blocks are used again, not returned to the system each time: for large operators, most of the time went there."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is not None:
        mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD, at most
        mallopt(-1, 512 << 20)  # M_TRIM_THRESHOLD


def end_with(parent: int) -> None:
    """However that process ends, this one does, whatever it is at."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)


def fork_others() -> int:
    """How many other processes return from here, too: as many as the program's argument says, if it has their connections at the
    descriptors 3, 4, ..., which are their standard input and output. They end with this process."""
    first, wanted = os.getpid(), sum(int(word) for word in sys.argv[1:] if word.isdigit())
    places = [place for place in range(3, 3 + wanted) if _is_connection(place)]
    for place in places:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which numpy has started and which survive a fork
            if os.fork() > 0:
                continue
        end_with(first)
        os.dup2(place, 0)
        os.dup2(place, 1)
        break
    for place in places:
        os.close(place)
    return len(places)


def _is_connection(place: int) -> bool:
    """A program between opdump and this one may not have handed it on."""
    try:
        return stat.S_ISSOCK(os.fstat(place).st_mode)
    except OSError:
        return False
