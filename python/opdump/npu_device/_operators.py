"""Modules of the originals with operators that only an NPU has. Whatever a program imports from them is one."""

from opdump.npu_device._no_effect import DeviceOnly


def __getattr__(name: str) -> DeviceOnly:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__} has no attribute {name}", name=name)
    return DeviceOnly(name)


__all__: list[str] = []
