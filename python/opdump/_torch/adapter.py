"""Finds the recorder that fits the torch of this process: that of the build, or one that the wheel brings. If none does, it is
built once, from the sources beside this file, and kept in a cache. Where that is impossible, the one in Python records."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from types import ModuleType

from opdump import _building
from opdump._building import CannotBuild, CannotBuildHere
from opdump._torch import prebuilt

_HERE = pathlib.Path(__file__).resolve().parent
_SOURCES = _HERE / "sources"
_OLDEST = (1, 13)
_GROUP = 9  # sources compiled at once: torch's headers cost most of the time
_FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w"]


def identity() -> str:
    """Names the torch and the Python that an adapter is for: "torch-2.15.0_cu130-1a2b3c4d-cpython-311-x86_64-linux-gnu"."""
    import torch

    commit = (getattr(torch.version, "git_version", None) or "unknown")[:8]
    words = ["torch", torch.__version__, commit, sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag]
    if sys.flags.debug or hasattr(sys, "gettotalrefcount"):
        words.append("debug")
    return re.sub(r"[^A-Za-z0-9.-]", "_", "-".join(words))


_origin = ""


def origin() -> str:
    """Where the recorder that was loaded comes from, in words."""
    return _origin


def load() -> ModuleType:
    """The extension module of the recorder. Raises CannotBuild, also if it does not load."""
    global _origin
    import torch

    version = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])
    if version < _OLDEST:
        raise CannotBuild(f"torch {torch.__version__} is too old: opdump supports 1.13 and newer")
    if os.environ.get("OPDUMP_RECORDER") == "python":
        return _in_python()
    name = identity()
    # Libraries are looked for under their short names, wherever they lie, once they are loaded.
    _load_library(_building.library())
    path = _HERE / "adapters" / name / "recorder.so"
    if not path.exists():
        if recorder := prebuilt.find(version, name):
            for library in prebuilt.libraries(recorder):
                _load_library(library)
            _origin = f"of the package, for torch {version[0]}.{version[1]}; it works with this one"
            return _import(recorder.module)
        try:
            path = _building.find_or_build(f"{name}-{_building.digest(_SOURCES, _FLAGS)}", "recorder.so", _build)
        except CannotBuildHere as error:
            return _in_python(error)
        if f"opdump recorder for torch {version[0]}.{version[1]};".encode() not in path.read_bytes():
            raise CannotBuild(f"{path} is a recorder for another torch than {torch.__version__}: remove it")
    _origin = str(path)
    return _import(path)


def _in_python(reason: CannotBuild | None = None) -> ModuleType:
    """The recorder in Python, where there is no other; `reason` says why. Raises it again if this torch lacks what it takes."""
    global _origin
    import torch

    if reason is not None and not hasattr(torch.library.Library, "fallback"):  # before torch 2.6
        raise reason
    try:
        from opdump._torch.in_python import hooks
    except (ImportError, AttributeError, TypeError) as error:
        raise CannotBuild(f"{reason or 'a recorder in Python is asked for'}; and the recorder in Python does not know this torch: "
                          f"{error}") from None
    _origin = "in Python, which takes longer for each operator: " + (str(reason) if reason else "OPDUMP_RECORDER asks for it")
    hooks.state.why = _origin
    return hooks


def _load_library(path: pathlib.Path) -> None:
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        raise CannotBuild(f"a library of the recorder does not load: {error}") from None


def _import(path: pathlib.Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader("opdump._torch.recorder", str(path))
    try:
        spec = importlib.util.spec_from_loader("opdump._torch.recorder", loader)
        if spec is None:
            raise CannotBuild(f"{path} is no extension module")
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise CannotBuild(f"the recorder does not load: {error}") from None
    return module


def _build(path: pathlib.Path) -> None:
    import torch

    compiler = _building.find_compiler()
    headers = pathlib.Path(torch.__path__[0]) / "include"
    if not (headers / "torch/csrc/api/include/torch/version.h").exists():
        headers = pathlib.Path("/usr/include")  # Debian's: libtorch-dev
    if not (headers / "torch/csrc/api/include/torch/version.h").exists():
        raise CannotBuildHere("torch's headers are not installed: install libtorch-dev")
    python = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(python, "Python.h")):
        raise CannotBuildHere(f"{python} has no Python.h: install the headers of this Python, for example python3-dev")
    compile_ = [*compiler, *_FLAGS, "-MD", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}", f"-I{_SOURCES}"]
    for directory in (headers, headers / "torch/csrc/api/include", python):
        compile_ += ["-isystem", str(directory)]
    sources = sorted(path.relative_to(_SOURCES) for path in _SOURCES.rglob("*.cc"))
    own = [path for path in sources if path.parts[0] == "python"]
    others = [path for path in sources if path not in own]
    groups = [others[i:i + _GROUP] for i in range(0, len(others), _GROUP)] + [own]
    with _building.building(f"torch {torch.__version__}", path), tempfile.TemporaryDirectory(prefix="build-", dir=path.parent) as work:
        objects = []
        commands = []
        for number, group in enumerate(groups):
            unit = pathlib.Path(work) / f"unit{number}.cc"
            unit.write_text("".join(f'#include "{source}"\n' for source in group))
            objects.append(str(unit.with_suffix(".o")))
            commands.append([*compile_, "-c", str(unit), "-o", objects[-1]])
        log = path.parent / "build.log"
        _building.run(commands, log, "torch")
        _check_headers(pathlib.Path(work), headers)
        built = os.path.join(work, "recorder.so")
        libraries = [str(next(_torch_libraries(name))) for name in ("torch_cpu", "c10")]
        _building.run([[*compiler, "-shared", "-o", built, *objects, str(_building.library()), *libraries]], log, "torch")
        os.replace(built, path)


def _check_headers(work: pathlib.Path, headers: pathlib.Path) -> None:
    """A header that this torch lacks may have come from another one: that of the system, where compilers look, too. In Debian's torch the
    folders are links, and gcc names what they lead to."""
    paths: set[str] = set()
    for dependencies in work.glob("*.d"):
        paths.update(dependencies.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ").split())
    for path in sorted(paths):
        name = re.search(r"/include/((ATen|c10|torch)/.*)", path)
        if name is None or headers in pathlib.Path(os.path.normpath(path)).parents:
            continue
        if os.path.realpath(headers / name[1]) != os.path.realpath(path):
            raise CannotBuildHere(f"{path} is a header of another torch than that in {headers}: this version of opdump does not "
                                  "know this torch")


def _torch_libraries(name: str) -> Iterator[pathlib.Path]:
    """Where the library is mapped from: torch is loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            place = line.rstrip("\n").partition("/")
            if re.fullmatch(rf"lib{name}\.so(\.[\d.]+)?", os.path.basename(place[2])):
                yield pathlib.Path("/" + place[2])
    raise CannotBuild(f"lib{name}.so is not loaded: this torch is linked in a way that opdump does not know")
