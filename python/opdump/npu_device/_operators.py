"""Modules of the originals with operators that only an NPU has. Whatever a program imports from them is one, or a name that
has no effect."""

import functools
from typing import Any

from opdump.npu_device import _names
from opdump.npu_device._no_effect import DeviceOnly


@functools.cache
def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__} has no attribute {name}", name=name)
    try:
        return _names.find(name)
    except KeyError:
        return DeviceOnly(name)


__all__: list[str] = []
