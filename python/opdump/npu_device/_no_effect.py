"""What programs for an NPU say about its speed and its cluster: accepted, without effect, and said once each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from opdump._stderr import print_line

_told: set[str] = set()


def tell(name: str) -> None:
    """Says that `name` has no effect, the first time only."""
    if name not in _told:
        _told.add(name)
        print_line(f"{name} has no effect: there is no NPU")


class Settings:
    """A section of options with any names. A value may be asked for again."""

    def __init__(self, *values: Any, **options: Any) -> None:
        tell(type(self).__name__)
        self._values = values
        self.__dict__.update(options)


class Switch(Settings):
    """Settings that hold inside `with`, or between start() and stop()."""

    def __enter__(self) -> Switch:
        return self

    def __exit__(self, *unused: object) -> None:
        pass

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


class Wrapper:
    """A class around an optimizer that changes how a device computes: what it is given takes its place."""

    def __new__(cls, opt: Any = None, *unused: Any, **options: Any) -> Any:
        tell(cls.__name__)
        return opt


def same(name: str, default: Any = None) -> Callable[..., Any]:
    """A function that returns what it is given first."""

    def unchanged(value: Any = default, *unused: Any, **options: Any) -> Any:
        tell(name)
        return value

    unchanged.__name__ = name
    return unchanged


def constant(name: str, value: Any) -> Callable[..., Any]:
    """A function that returns `value`, whatever it is given."""

    def returning(*unused: Any, **options: Any) -> Any:
        tell(name)
        return value

    returning.__name__ = name
    return returning


class DeviceOnly:
    """An operator that only an NPU has, or a module of them: it can be imported, and says so when it is called."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> DeviceOnly:
        if name.startswith("__"):
            raise AttributeError(name)
        return DeviceOnly(f"{self.__name__}.{name}")

    def __call__(self, *unused: Any, **options: Any) -> Any:
        raise RuntimeError(f"{self.__name__} computes on an NPU only")


def scope(name: str) -> Callable[..., Any]:
    """A function whose result is a context for `with`."""

    @contextlib.contextmanager
    def entered(*unused: Any, **options: Any) -> Iterator[None]:
        tell(name)
        yield

    entered.__name__ = name
    return entered
