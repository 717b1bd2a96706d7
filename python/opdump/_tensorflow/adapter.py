"""Finds the recorder that fits the TensorFlow of this process, or builds it once, as opdump._torch.adapter does for torch."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import sysconfig
import tempfile
from collections.abc import Callable
from typing import Any

from opdump import _building
from opdump._building import CannotBuild

_SOURCES = pathlib.Path(__file__).resolve().parent / "sources"
_OLDEST = (2, 16)
_FLAGS = ["-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-w"]


class Options(ctypes.Structure):
    """opdump_options of opdump.h."""

    _fields_ = [
        ("size", ctypes.c_uint32), ("rank", ctypes.c_uint32), ("config_path", ctypes.c_char_p), ("dialect", ctypes.c_char_p),
        ("mode", ctypes.c_char_p), ("runtime", ctypes.c_char_p), ("process", ctypes.c_char_p), ("strict", ctypes.c_int32),
        ("device_id", ctypes.c_int32), ("memory_limit_bytes", ctypes.c_uint64), ("threads", ctypes.c_uint32),
        ("reports_graph", ctypes.c_uint32), ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p), ("retain", ctypes.c_void_p),
        ("release", ctypes.c_void_p), ("config_text", ctypes.c_char_p), ("write_file", ctypes.c_void_p),
        ("write_file_user", ctypes.c_void_p), ("existing", ctypes.c_uint32), ("is_launched", ctypes.c_uint32),
    ]


class Request(ctypes.Structure):
    """opdump_request of opdump.h."""

    _fields_ = [("size", ctypes.c_uint32), ("content", ctypes.c_uint32), ("output", ctypes.c_char_p), ("steps", ctypes.c_char_p),
                ("ops", ctypes.c_char_p), ("module", ctypes.c_char_p), ("budget", ctypes.c_char_p)]


Describer = ctypes.CFUNCTYPE(None)

_RESULTS = {"is_active": ctypes.c_int, "current_step": ctypes.c_int64, "start": ctypes.c_int, "stop": ctypes.c_int}
_ARGUMENTS = {
    "keep_stderr": [ctypes.c_int], "start": [ctypes.POINTER(Options), ctypes.c_char_p], "stop": [ctypes.c_int], "set_describer": [Describer],
    "describe": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int], "set_context": [ctypes.c_void_p],
    "enter": [ctypes.c_char_p, ctypes.c_int], "leave": [ctypes.c_int], "begin_unit": [ctypes.c_char_p],
    "add_optimizer": [ctypes.c_char_p], "add_source": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int], "step": [],
    "is_active": [], "current_step": [], "report_unseen": [ctypes.c_char_p, ctypes.c_char_p],
}


class Library:
    """The functions of adapters/tensorflow/door.h without their prefix. Loading it registers the device that shows its kernels:
    that must happen before TensorFlow makes its devices."""

    keep_stderr: Callable[[int], None]
    start: Callable[[Any, bytes | None], int]
    stop: Callable[[int], int]
    set_describer: Callable[[Any], None]
    describe: Callable[[bytes, bytes | None, int], None]
    set_context: Callable[[int | None], None]
    enter: Callable[[bytes, int], None]
    leave: Callable[[int], None]
    begin_unit: Callable[[bytes], None]
    add_optimizer: Callable[[bytes | None], None]
    add_source: Callable[[bytes, bytes | None, int], None]
    step: Callable[[], None]
    is_active: Callable[[], int]
    current_step: Callable[[], int]
    report_unseen: Callable[[bytes, bytes], None]

    def __init__(self) -> None:
        self._core = ctypes.CDLL(str(_building.library()))
        self._core.opdump_last_error.restype = ctypes.c_char_p
        path = str(_find_built())
        quick, patient = ctypes.PyDLL(path), ctypes.CDLL(path)  # the first keeps the GIL, which costs less than to release it
        for name, arguments in _ARGUMENTS.items():
            library = patient if name in ("start", "stop", "enter", "leave", "step", "begin_unit") else quick
            function = getattr(library, f"opdump_tensorflow_{name}")
            function.argtypes, function.restype = arguments, _RESULTS.get(name)
            setattr(self, name, function)

    def make_config(self, request: Request) -> str:
        text = ctypes.c_char_p()
        if self._core.opdump_make_config(ctypes.byref(request), ctypes.byref(text)):
            raise ValueError(self.last_error())
        return (text.value or b"").decode()

    def last_error(self) -> str:
        return self._core.opdump_last_error().decode("utf-8", "replace")


def _identity() -> str:
    import tensorflow as tf

    words = ["tensorflow", tf.__version__, (tf.version.GIT_VERSION or "unknown")[-12:], sysconfig.get_platform()]
    return re.sub(r"[^A-Za-z0-9.-]", "_", "-".join(words))


def _find_built() -> pathlib.Path:
    import tensorflow as tf

    version = tuple(int(number) for number in re.findall(r"\d+", tf.__version__)[:2])
    if version < _OLDEST:
        raise CannotBuild(f"TensorFlow {tf.__version__} is too old: opdump supports {_OLDEST[0]}.{_OLDEST[1]} and newer")
    return _building.find_or_build(f"{_identity()}-{_building.digest(_SOURCES, _FLAGS)}", "recorder.so", _build)


def _build(path: pathlib.Path) -> None:
    import tensorflow as tf

    root = pathlib.Path(tf.__file__).parent
    if not (root / "include/tensorflow/core/common_runtime/threadpool_device.h").exists():
        raise CannotBuild(f"this TensorFlow brings no headers in {root / 'include'}: install it from PyPI")
    compiler = _building.find_compiler()
    flags = [flag for flag in tf.sysconfig.get_compile_flags() if not flag.startswith("-I")]
    includes = [f"-I{_SOURCES}"]
    for directory in (tf.sysconfig.get_include(), os.path.join(tf.sysconfig.get_include(), "external/farmhash_archive/src")):
        includes += ["-isystem", directory]
    with _building.building(f"TensorFlow {tf.__version__}", path), tempfile.TemporaryDirectory(
            prefix="build-", dir=path.parent) as work:
        unit = pathlib.Path(work) / "unit.cc"
        unit.write_text("".join(f'#include "{source.name}"\n' for source in sorted(_SOURCES.glob("*.cc"))))
        log = path.parent / "build.log"
        _building.run([[*compiler, *_FLAGS, *flags, *includes, "-c", str(unit), "-o", f"{unit}.o"]], log, "TensorFlow")
        built = os.path.join(work, path.name)
        libraries = [str(root / name) for name in ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")]
        _building.run([[*compiler, "-shared", "-o", built, f"{unit}.o", str(_building.library()), *libraries]], log, "TensorFlow")
        os.replace(built, path)
