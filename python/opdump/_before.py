"""Before a program begins: whether its torch can be recorded. `opdump run` must not find that out when the program is under way.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

_KNOWN = "OPDUMP_KNOWN_RECORDER"  # of the process that started this one
_ASK = "from opdump import _before; _before.answer()"
_REFUSED = 90  # the exit code of the child process if there is no recorder


def find_torch(folder: str) -> str | None:
    """The file of the torch that a program in this folder imports; nothing runs."""
    spec = importlib.machinery.PathFinder.find_spec("torch", [folder, *sys.path])
    return spec.origin if spec else None


def why_not(command: list[str]) -> str | None:
    """Why the torch of this process, which was started by this command, cannot be recorded. None if it can be, or if the program
    imports none as far as its sources say. What was found out once is kept: to find out takes an import of torch, and the recorder
    is tried out or built at that time."""
    kind, script = script_of(command)
    # What Python puts first into sys.path.
    folder = os.path.dirname(os.path.realpath(script)) if kind == "" and script else os.getcwd()
    torch = find_torch(folder)
    if torch is None or not sys.executable:
        return None
    key = _key(torch)
    note = os.path.join(os.environ.get("OPDUMP_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "opdump"), "tried", f"known-{key}")
    if _is_known(note):
        os.environ[_KNOWN] = key
    if os.environ.get(_KNOWN) == key:
        return None
    from opdump import _sources

    if not _sources.import_package("torch", kind, script, folder):
        return None
    answer = _ask(folder, note)
    if answer is None:
        os.environ[_KNOWN] = key
    return answer


def command() -> list[str]:
    """The words that this process was started with."""
    with open("/proc/self/cmdline", "rb") as words:
        return [os.fsdecode(word) for word in words.read().split(b"\0")[:-1]]


def script_of(words: list[str]) -> tuple[str, str]:
    """("c", code), ("m", module) or ("", file) of a Python's command; ("", "") if it reads its program from standard input."""
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word == "-" or not word.startswith("-"):
            return "", "" if word == "-" else word
        if word == "--check-hash-based-pycs":
            rest[:1] = []
        if word.startswith("--"):
            continue
        for i, letter in enumerate(word[1:], 2):
            if letter in "cmWX":
                value = word[i:] or (rest.pop(0) if rest else "")
                if letter in "cm":
                    return letter, value
                break
    return "", ""


def _key(torch: str) -> str:
    """Names a torch, a Python and an opdump; another one in the same place has other times."""
    words = [torch, sys.executable, sys.version]
    files = (torch, os.path.join(os.path.dirname(torch), "version.py"), __file__)
    words += [f"{path} {os.stat(path).st_mtime_ns}" for path in files if os.path.exists(path)]
    return importlib.util.source_hash("\0".join(words).encode("utf-8", "surrogateescape")).hex()


def _is_known(note: str) -> bool:
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as file:
            return os.path.isfile(file.read())
    except OSError:
        return False


def _ask(folder: str, note: str) -> str | None:
    import subprocess

    environment = {name: value for name, value in os.environ.items() if name not in ("OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG", "OPDUMP_COMPAT")}
    done = subprocess.run([sys.executable, "-c", _ASK, folder, note], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=False)
    # If torch itself does not load, the program shows it.
    return done.stdout.decode("utf-8", "replace") if done.returncode == _REFUSED else None


def answer() -> None:
    """The child process: finds, tries out or builds the recorder. Notes where it is, or prints why there is none."""
    import pathlib

    from opdump import _building, _stderr

    folder, note = sys.argv[1:]
    sys.path[0] = folder
    _stderr.keep()  # what torch says is said again in the program
    said = os.dup(1)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    import torch  # noqa: F401

    try:
        from opdump._torch import adapter

        recorder = adapter.load()
    except _building.CannotBuild as error:
        os.write(said, str(error).encode("utf-8", "replace"))
        os._exit(_REFUSED)
    _building.note(pathlib.Path(note), str(recorder.__file__))
