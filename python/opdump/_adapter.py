"""Finds the recorder that fits the torch of this process. If none does, it is built once, from the sources beside this
file, and kept in a cache."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from types import ModuleType

_PACKAGE = pathlib.Path(__file__).resolve().parent
_SOURCES = _PACKAGE / "adapter_sources"
_OLDEST = (1, 13)
_GROUP = 9  # sources compiled at once: torch's headers cost most of the time
_FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w"]


class CannotBuild(RuntimeError):
    """Why there is no recorder, in one sentence."""


def identity() -> str:
    """Names the torch and the Python that an adapter is for: "torch-2.15.0_cu130-1a2b3c4d-cpython-311-x86_64-linux-gnu"."""
    import torch

    commit = (getattr(torch.version, "git_version", None) or "unknown")[:8]
    words = ["torch", torch.__version__, commit, sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag]
    if sys.flags.debug or hasattr(sys, "gettotalrefcount"):
        words.append("debug")
    return re.sub(r"[^A-Za-z0-9.-]", "_", "-".join(words))


def load() -> ModuleType:
    """The extension module of the recorder. Raises CannotBuild, or ImportError if it does not load."""
    import torch

    version = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])
    if version < _OLDEST:
        raise CannotBuild(f"torch {torch.__version__} is too old: opdump supports 1.13 and newer")
    name = identity()
    path = _PACKAGE / "adapters" / name / "_torch.so"
    if not path.exists():
        path = find_or_build(f"{name}-{digest(_SOURCES, _FLAGS)}", "_torch.so", _build)
    if f"opdump recorder for torch {version[0]}.{version[1]};".encode() not in path.read_bytes():
        raise CannotBuild(f"{path} is a recorder for another torch than {torch.__version__}: remove it")
    # The recorder looks for it under its short name, wherever it lies.
    ctypes.CDLL(str(library()))
    loader = importlib.machinery.ExtensionFileLoader("opdump._torch", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("opdump._torch", path, loader=loader))
    loader.exec_module(module)
    return module


def library(name: str = "libopdump.so.0") -> pathlib.Path:
    """One of our libraries: beside the package's modules, or in the library directory of the prefix or of the build."""
    prefixes = [_PACKAGE, _PACKAGE.parent.parent, _PACKAGE.parent.parent.parent.parent]
    for prefix in prefixes:
        for found in (*prefix.glob(f"lib/{name}"), *prefix.glob(f"lib64/{name}"), *prefix.glob(f"lib/*-linux-gnu/{name}")):
            return found
    raise CannotBuild(f"{name} is not beside the package in {_PACKAGE}: install opdump again")


def _cache() -> pathlib.Path:
    if own := os.environ.get("OPDUMP_CACHE"):
        return pathlib.Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "opdump"


def digest(sources: pathlib.Path, flags: list[str]) -> str:
    content = hashlib.sha256(" ".join(flags).encode())
    for path in sorted(sources.rglob("*")):
        if path.is_file():
            content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()[:12]


def find_or_build(directory_name: str, file_name: str, build: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """The file in a directory of the cache, built by `build(path)` if it is not there."""
    directory = _cache() / "adapters" / directory_name
    path = directory / file_name
    try:
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            with _locked(directory / "lock"):
                if not path.exists():  # another process may have built it meanwhile
                    for killed in directory.glob("build-*"):
                        shutil.rmtree(killed, ignore_errors=True)
                    build(path)
        is_complete = _is_complete(path)
    except OSError as error:
        raise CannotBuild(f"cannot write the recorder to {directory} ({error.strerror}): set OPDUMP_CACHE to a directory "
                          "that can be written") from None
    if not is_complete:
        raise CannotBuild(f"{path} is damaged: remove it, and the next program that is recorded builds it again")
    return path


def _is_complete(path: pathlib.Path) -> bool:
    """Whether the file has its table of sections, which is its end. Loading one that is cut off ends the program with SIGBUS."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            begin, = struct.unpack_from("<Q", header, 40)
            size, count = struct.unpack_from("<HH", header, 58)
            return begin + size * count <= os.fstat(file.fileno()).st_size
    except (IsADirectoryError, struct.error):
        return False


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    import fcntl

    from opdump._stderr import print_line  # CMake runs this file outside of the package

    with open(path, "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_line("waiting for another process, which builds the recorder")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def find_compiler() -> list[str]:
    if chosen := os.environ.get("CXX", "").strip():
        try:
            return shlex.split(chosen)
        except ValueError as error:
            raise CannotBuild(f"CXX is {chosen}, which is no command ({error}): set it to a C++ compiler, or unset it") from None
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return [name]
    raise CannotBuild("there is no C++ compiler to build the recorder with: install g++ 12 or clang 14, or a "
                      "newer one, or name one with CXX")


def _build(path: pathlib.Path) -> None:
    import torch

    compiler = find_compiler()
    headers = pathlib.Path(torch.__file__).parent / "include"
    if not (headers / "torch/csrc/api/include/torch/version.h").exists():
        headers = pathlib.Path("/usr/include")  # Debian's: libtorch-dev
    if not (headers / "torch/csrc/api/include/torch/version.h").exists():
        raise CannotBuild("torch's headers are not installed: install libtorch-dev")
    python = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(python, "Python.h")):
        raise CannotBuild(f"{python} has no Python.h: install the headers of this Python, for example python3-dev")
    compile_ = [*compiler, *_FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}", f"-I{_SOURCES}"]
    for directory in (headers, headers / "torch/csrc/api/include", python):
        compile_ += ["-isystem", str(directory)]
    sources = sorted(path.relative_to(_SOURCES) for path in _SOURCES.rglob("*.cc"))
    own = [path for path in sources if path.parts[0] == "python"]
    others = [path for path in sources if path not in own]
    groups = [others[i:i + _GROUP] for i in range(0, len(others), _GROUP)] + [own]
    with building(f"torch {torch.__version__}", path), tempfile.TemporaryDirectory(prefix="build-", dir=path.parent) as work:
        objects = []
        commands = []
        for number, group in enumerate(groups):
            unit = pathlib.Path(work) / f"unit{number}.cc"
            unit.write_text("".join(f'#include "{source}"\n' for source in group))
            objects.append(str(unit.with_suffix(".o")))
            commands.append([*compile_, "-c", str(unit), "-o", objects[-1]])
        log = path.parent / "build.log"
        run(commands, log, "torch")
        built = os.path.join(work, "_torch.so")
        libraries = [str(next(_torch_libraries(name))) for name in ("torch_cpu", "c10")]
        run([[*compiler, "-shared", "-o", built, *objects, str(library()), *libraries]], log, "torch")
        os.replace(built, path)


@contextlib.contextmanager
def building(what: str, path: pathlib.Path) -> Iterator[None]:
    from opdump._stderr import print_line  # CMake runs this file outside of the package

    print_line(f"building the recorder for {what} once, about a minute")
    begin = time.monotonic()
    yield
    print_line(f"built in {time.monotonic() - begin:.0f} s: {path}")


def _torch_libraries(name: str) -> Iterator[pathlib.Path]:
    """Where the library is mapped from: torch is loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            place = line.rstrip("\n").partition("/")
            if re.fullmatch(rf"lib{name}\.so(\.[\d.]+)?", os.path.basename(place[2])):
                yield pathlib.Path("/" + place[2])
    raise CannotBuild(f"lib{name}.so is not loaded: this torch is linked in a way that opdump does not know")


def run(commands: list[list[str]], log: pathlib.Path, what: str) -> None:
    """Runs the commands, as many at once as there are processors. Their output goes to the log."""
    waiting, running = list(commands), []
    environment = {**os.environ, "LC_ALL": "C"}
    for name in ("OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG", "LD_PRELOAD"):
        environment.pop(name, None)
    with open(log, "ab") as output:
        while waiting or running:
            while waiting and len(running) < max(1, len(os.sched_getaffinity(0))):
                command = waiting.pop(0)
                try:
                    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
                except OSError as error:
                    raise CannotBuild(f"{command[0]}: {error.strerror}; name another compiler with CXX") from None
                running.append(process)
            if running.pop(0).wait() != 0:
                for process in running:
                    process.kill()
                    process.wait()
                raise CannotBuild(f"the recorder for this {what} could not be built; the compiler's messages are in {log}; "
                                  "it takes g++ 12 or clang 14, or a newer one, which CXX can name")


if __name__ == "__main__":  # for CMake
    print(identity())
