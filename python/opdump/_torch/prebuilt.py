"""The recorders that a wheel brings: a library for each minor version of torch and C++ ABI, and a small module for each Python. A
child process tries a library with the torch at hand before it is used, once."""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import sys
import sysconfig
from typing import NamedTuple, Optional

from opdump import _building

_FOLDER = pathlib.Path(__file__).resolve().parent / "prebuilt"
_TRIAL = """
import pathlib, sys, tempfile
sys.path.append(sys.argv[1])
import torch
import opdump
with tempfile.TemporaryDirectory() as folder:
    with opdump.record(folder + "/dump") as recording:
        (torch.ones(3) + 1).exp().sum()
    names = "".join(path.read_text() for path in pathlib.Path(folder).rglob("operators.jsonl"))
missing = [name for name in ("add", "exp", "sum") if f"Default/{name}-op0" not in names]
sys.exit(f"not recorded: {missing}" if missing or not recording.complete else 0)
"""
_TRYING = "OPDUMP_TRIES_RECORDER"  # set in the child process
_NOT_FOR_CHILD = ("OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG", "OPDUMP_RUN_REPORT", "OPDUMP_RUN_ID", "OPDUMP_COMPAT", "OPDUMP_FRAMEWORK",
                  "OPDUMP_EXISTING", "RANK", "WORLD_SIZE", "LOCAL_RANK")


class Recorder(NamedTuple):
    library: pathlib.Path
    module: pathlib.Path


def place(version: tuple[int, ...], abi: int) -> Optional[Recorder]:
    """What the package has for a torch and this Python; None if it lacks either."""
    recorder = Recorder(_FOLDER / f"torch-{version[0]}.{version[1]}-abi{abi}" / "libopdump_torch.so",
                        _FOLDER / f"recorder{sysconfig.get_config_var('EXT_SUFFIX')}")
    return recorder if recorder.library.exists() and recorder.module.exists() else None


def versions() -> list[str]:
    """The minor versions of torch that the package has recorders for: "2.6"."""
    found = {path.parent.name.split("-")[1] for path in _FOLDER.glob("torch-*/libopdump_torch.so")}
    return sorted(found, key=lambda version: [int(number) for number in version.split(".")])


def find(version: tuple[int, ...], identity: str) -> Optional[Recorder]:
    """The recorder for the torch of this process; None if there is none, or if it does not work with this torch."""
    import torch

    recorder = place(version, int(torch._C._GLIBCXX_USE_CXX11_ABI))
    if recorder is None or os.environ.get(_TRYING) or not _why_not(recorder, identity):
        return recorder
    return None


def libraries(recorder: Recorder) -> list[pathlib.Path]:
    """What to load, in this order. Where torch's libraries have a version in their names, as Debian's have, others stand in for the names
    that a recorder asks for."""
    first = [] if _is_loaded("libtorch_cpu.so") else sorted((recorder.library.parent / "versioned").glob("*.so"))
    return [*first, recorder.library]


def _is_loaded(name: str) -> bool:
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def _why_not(recorder: Recorder, identity: str) -> str:
    """Why it does not work here; "" if it does."""
    known = _building.cache() / "tried" / f"{identity}-{_building.digest(recorder.library.parent, [str(recorder.module)])}"
    try:
        return known.read_text(encoding="utf-8")
    except OSError:
        pass
    answer = _try_out()
    _building.note(known, answer)
    return answer


def _try_out() -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_CHILD}
    environment.update({_TRYING: "1", "CUDA_VISIBLE_DEVICES": ""})
    try:
        done = subprocess.run([sys.executable, "-c", _TRIAL, str(pathlib.Path(__file__).resolve().parents[2])], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip() or f"status {done.returncode}")[-2000:]
