"""`opdump doctor`: what opdump finds on this machine, and of each problem the remedy. Runs in the Python that is asked about."""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from opdump import _building, _cache

_HERE = pathlib.Path(__file__).resolve().parent
_LITTLE_ROOM = 2 << 30
_problems: list[str] = []


def _print(name: str, text: str) -> None:
    print(f"{name:<12}{text}")


def _problem(name: str, text: str, remedy: str) -> None:
    _print(name, text)
    _problems.append(f"{name}: {text}; {remedy}")


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _system() -> None:
    facts = {}
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                facts = dict(line.rstrip("\n").split("=", 1) for line in lines if "=" in line)
            break
    name = facts.get("PRETTY_NAME", platform.system()).strip('"')
    _print("system", f"{name}, {platform.machine()}, {' '.join(platform.libc_ver())}, {len(os.sched_getaffinity(0))} processors")


def _pythons() -> Iterator[str]:
    """Programs that PATH has, each once."""
    seen = {os.path.realpath(sys.executable)}
    for folder in os.get_exec_path():
        for path in sorted(glob.glob(os.path.join(folder, "python3*"))):
            is_python = re.fullmatch(r"python3(\.\d+)?", os.path.basename(path)) and os.access(path, os.X_OK)
            if is_python and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield path


def _other_pythons() -> None:
    ask = ("import importlib.util, platform; print(platform.python_version(), "
           "*[m for m in ('torch', 'tensorflow', 'flax') if importlib.util.find_spec(m)])")
    for path in _pythons():
        try:
            done = subprocess.run([path, "-c", ask], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            version, *packages = done.stdout.split()
            _print("", f"{path} {version}, {' and '.join(packages) or 'without torch'}")


def _torch() -> None:
    if importlib.util.find_spec("torch") is None:
        if importlib.util.find_spec("tensorflow") is None:
            _problem("torch", f"{sys.executable} has none", "name the Python of your program: opdump doctor --python PYTHON")
        else:
            _print("torch", "none")
        return
    try:
        import torch
    except Exception as error:  # of whatever kind: it is broken
        _problem("torch", f"cannot be imported: {type(error).__name__}: {error}", "install it again")
        return
    _print("torch", f"{torch.__version__} in {os.path.dirname(torch.__file__ or '')}, C++ ABI {int(torch._C._GLIBCXX_USE_CXX11_ABI)}")
    _recorder()


def _recorder() -> None:
    from opdump._torch import adapter, prebuilt

    try:
        adapter.load()
    except _building.CannotBuild as error:
        brought = f"the package brings those for torch {', '.join(prebuilt.versions())}" if prebuilt.versions() else \
            "this package brings none"
        _problem("recorder", f"{error}", brought)
        return
    _print("recorder", adapter.origin())


def _tensorflow() -> None:
    if importlib.util.find_spec("tensorflow"):
        _print("tensorflow", f"{_version_of('tensorflow') or _version_of('tensorflow-cpu') or 'found'}; its recorder is built when a program "
               "is recorded")


def _flax() -> None:
    if importlib.util.find_spec("flax"):
        _print("flax", f"{_version_of('flax') or 'found'}, with JAX {_version_of('jax') or 'of an unknown version'}; its recorder needs no build")


def _compiler() -> None:
    command: list[str] = []
    try:
        command = _building.find_compiler()
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        _print("compiler", f"{' '.join(command)}: {done.stdout.partition(chr(10))[0]}")
    except _building.CannotBuild:
        _print("compiler", "none; only a torch without a recorder in the package needs one")
    except OSError as error:
        _problem("compiler", f"{command[0]}: {error.strerror}", "set CXX to a C++ compiler, or unset it")


def _disk(name: str, folder: pathlib.Path) -> None:
    place = folder
    while not os.path.exists(place):  # also where its folder may not be looked into
        place = place.parent
    free = shutil.disk_usage(place).free
    text = f"{folder}, {_cache.spell_bytes(free)} free"
    if not os.access(place, os.W_OK):
        remedy = "set OPDUMP_CACHE to a folder that can be" if name == "cache" else "record elsewhere: -o FOLDER"
        _problem(name, f"{folder} cannot be written", remedy)
    elif free < _LITTLE_ROOM:
        _problem(name, text, "make room" + (", or set OPDUMP_CACHE to another disk" if name == "cache" else ""))
    else:
        _print(name, text + (f", {_cache.spell_bytes(_cache.size_of(folder))} used" if name == "cache" else ""))


def main() -> None:
    _print("opdump", f"{_version_of('opdump') or 'of a build'} in {_HERE}")
    _system()
    _print("python", f"{sys.executable} {platform.python_version()}")
    _other_pythons()
    _torch()
    _tensorflow()
    _flax()
    _compiler()
    _disk("cache", _building.cache())
    _disk("disk", pathlib.Path.cwd())
    for text in _problems:
        print(f"\nproblem -- {text}")
    if not _problems:
        print("\nno problem found")
    sys.exit(3 if _problems else 0)
