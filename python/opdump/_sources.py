"""Whether a program imports a package, as far as its sources say: they are read, and nothing of them runs."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.metadata
import os
import pathlib
import re
import sys
from collections.abc import Iterator

_MOST_FILES = 2000  # of a program; what lies further is seen when it is imported


def import_package(package: str, kind: str, script: str, folder: str) -> bool:
    """Whether a program, as _before.script_of() describes it, imports the package: itself, in files of its own, or through a package
    that requires it. A program on standard input, and an import whose name is computed, is not seen."""
    search = _Search(package, [folder, *sys.path])
    if kind == "m":
        return search.finds_name(script.partition(".")[0])
    return search.finds_text(script.encode("utf-8", "surrogateescape") if kind == "c" else _read(pathlib.Path(script)))


class _Search:
    def __init__(self, package: str, path: list[str]) -> None:
        self._package, self._path = package, path
        self._seen: set[str] = set()
        self._files = 0

    def finds_text(self, text: bytes) -> bool:
        names = set(_imported(text))
        return self._package in names or any(self.finds_name(name) for name in sorted(names))

    def finds_name(self, name: str) -> bool:
        """Whether a module of this name, at the top, is the package or imports it."""
        if name == self._package:
            return True
        if name in self._seen:
            return False
        self._seen.add(name)
        spec = importlib.machinery.PathFinder.find_spec(name, self._path)
        if spec is None or _is_of_python(spec.origin or ""):
            return False
        places = [pathlib.Path(place) for place in spec.submodule_search_locations or ()]
        if _is_installed(places[0].parent if places else pathlib.Path(spec.origin or "").parent):
            return _requires(name, self._package)
        files = [file for place in places for file in sorted(place.rglob("*.py"))] or [pathlib.Path(spec.origin or "")]
        for file in files:
            self._files += 1
            if self._files > _MOST_FILES:
                return False
            if self.finds_text(_read(file)):
                return True
        return False


def _is_installed(folder: pathlib.Path) -> bool:
    return folder.name in ("site-packages", "dist-packages") or any(folder.glob("*.dist-info"))


def _read(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes() if path.suffix != ".so" else b""
    except OSError:
        return b""


def _imported(text: bytes) -> Iterator[str]:
    """The modules that a text imports, by the first of their names."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__", "run_module"):
                yield node.args[0].value.partition(".")[0]


def _is_of_python(origin: str) -> bool:
    if origin in ("built-in", "frozen"):
        return True
    library = os.path.dirname(os.path.realpath(os.__file__))
    inside = os.path.realpath(origin).partition(library + os.sep)
    return inside[:2] == ("", library + os.sep) and not inside[2].startswith(("site-packages", "dist-packages"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requires(module: str, package: str) -> bool:
    """Whether the distribution that an installed module belongs to requires another one, itself or through others. It may import
    what is only for its extras, too."""
    waiting, seen = [_distribution_of(module)], set()
    is_first = True
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            requirements = importlib.metadata.requires(name) or []
        except (importlib.metadata.PackageNotFoundError, ValueError):
            requirements = []
        for requirement in requirements:
            required = re.match(r"[\w.-]+", requirement)
            if required and (is_first or "extra ==" not in requirement):
                waiting.append(_normal(required[0]))
        is_first = False
    return package in seen


def _distribution_of(module: str) -> str:
    """Most have the name of their module."""
    try:
        return importlib.metadata.distribution(module).metadata["Name"]
    except (importlib.metadata.PackageNotFoundError, ValueError):
        pass
    for distribution in importlib.metadata.distributions():
        if module in (distribution.read_text("top_level.txt") or "").split():
            return distribution.metadata["Name"]
    return module
