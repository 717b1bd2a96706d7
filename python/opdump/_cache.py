"""`opdump cache`: recorders that were built here, and what else is kept for later. `opdump cache clean` removes them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import stat
import sys

from opdump import _building

_OURS = ("adapters", "tried")  # what this package makes; others keep things beside them


def spell_bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def size_of(folder: pathlib.Path) -> int:
    """Bytes of the files in it. Links count nothing, and neither does what cannot be looked at or is removed meanwhile."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                facts = os.lstat(os.path.join(place, name))
                size += facts.st_size if stat.S_ISREG(facts.st_mode) else 0
    return size


def main() -> None:
    folder = _building.cache()
    found = [path for name in _OURS for path in sorted((folder / name).glob("*"))]
    if sys.argv[1:] == ["clean"]:
        size = sum(size_of(path) if path.is_dir() else path.stat().st_size for path in found)
        for name in _OURS:
            if (folder / name).exists():
                shutil.rmtree(folder / name)
        print(f"removed {spell_bytes(size)} from {folder}")
        return
    print(f"{folder}: {spell_bytes(size_of(folder))}")
    for path in found:
        if path.is_dir():
            print(f"  {path.name}, {spell_bytes(size_of(path))}")
