"""Where our libraries are, and recorders that are built once, from sources in the package, and kept in a cache."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from opdump._stderr import print_line

_PACKAGE = pathlib.Path(__file__).resolve().parent


class CannotBuild(RuntimeError):
    """Why there is no recorder, in one sentence."""


class CannotBuildHere(CannotBuild):
    """What it takes is not on this machine, or does not know this framework, and nobody has asked for another thing."""


def library(name: str = "libopdump.so.0") -> pathlib.Path:
    """One of our libraries: beside the package's modules, or in the library directory of the prefix or of the build."""
    # Of a wheel; of a build; of a prefix.
    prefixes = [_PACKAGE, _PACKAGE.parent.parent, _PACKAGE.parent.parent.parent.parent]
    for prefix in prefixes:
        for found in (*prefix.glob(f"lib/{name}"), *prefix.glob(f"lib64/{name}"), *prefix.glob(f"lib/*-linux-gnu/{name}")):
            return found
    raise CannotBuild(f"{name} is not beside the package in {_PACKAGE}: install opdump again")


def cache() -> pathlib.Path:
    if own := os.environ.get("OPDUMP_CACHE"):
        return pathlib.Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "opdump"


def remember_python() -> None:
    """Notes that this user records with this Python. `opdump blame` runs operators again in the Python that a dump names only if
    it is noted: a dump may come from anywhere (src/cli/compare/recorded_python.cc)."""
    path, line = cache() / "pythons", os.fsencode(sys.executable or "") + b"\n"
    with contextlib.suppress(OSError):  # a home that cannot be written to
        if path.is_file() and line in path.read_bytes().splitlines(keepends=True):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as file:
            file.write(line)


def note(path: pathlib.Path, text: str) -> None:
    """Writes it, for processes to come. A cache that cannot be written costs some seconds each time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
        temporary.replace(path)


def digest(sources: pathlib.Path, flags: list[str]) -> str:
    content = hashlib.sha256(" ".join(flags).encode())
    for path in sorted(sources.rglob("*")):
        if path.is_file():
            content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()[:12]


def find_or_build(directory_name: str, file_name: str, build: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """The file in a directory of the cache, built by `build(path)` if it is not there."""
    directory = cache() / "adapters" / directory_name
    path = directory / file_name
    try:
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            with _locked(directory / "lock"):
                if not path.exists():  # another process may have built it meanwhile
                    for killed in directory.glob("build-*"):
                        shutil.rmtree(killed, ignore_errors=True)
                    (directory / "build.log").unlink(missing_ok=True)
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
    raise CannotBuildHere("there is no C++ compiler to build the recorder with: install g++ 12 or clang 14, or a "
                          "newer one, or name one with CXX")


@contextlib.contextmanager
def building(what: str, path: pathlib.Path) -> Iterator[None]:
    print_line(f"building the recorder for {what} once, about a minute")
    begin = time.monotonic()
    yield
    print_line(f"built in {time.monotonic() - begin:.0f} s: {path}")


def run(commands: list[list[str]], log: pathlib.Path, what: str) -> None:
    """Runs the commands, as many at once as there are processors. Their output goes to the log, in the end: what says that a disk is full
    has no room on it."""
    with open(os.memfd_create(log.name), "w+b") as output:
        try:
            _run(commands, output.fileno(), log, what)
        finally:
            output.seek(0)
            with contextlib.suppress(OSError), open(log, "ab") as file:
                shutil.copyfileobj(output, file)


def _run(commands: list[list[str]], output: int, log: pathlib.Path, what: str) -> None:
    waiting, running = list(commands), []
    environment = {**os.environ, "LC_ALL": "C"}
    for name in ("OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG", "LD_PRELOAD"):
        environment.pop(name, None)
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
            said = os.pread(output, os.fstat(output).st_size, 0)
            if b"No space left on device" in said or shutil.disk_usage(log.parent).free < 4096:
                raise CannotBuild(f"the disk is full: make room in {log.parent} and {tempfile.gettempdir()}, or set OPDUMP_CACHE "
                                  "and TMPDIR to directories on another disk")
            kind = CannotBuild if os.environ.get("CXX", "").strip() else CannotBuildHere
            raise kind(f"the recorder for this {what} could not be built; the compiler's messages are in {log}; "
                       "it takes g++ 12 or clang 14, or a newer one, which CXX can name")
