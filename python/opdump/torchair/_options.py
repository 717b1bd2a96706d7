"""TorchAir's options: checked on assignment, read as objects whose .value is a string."""

from __future__ import annotations

import datetime
import functools
import os
import re
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from opdump import _steps


class Option:
    """A setting. `check` raises if a value is not allowed."""

    def __init__(self, default: Any, check: Callable[[Any], None]) -> None:
        self._value, self._check = default, check

    @property
    def value(self) -> Any:
        """The value to pass on: "1" and "0" for True and False, else what was assigned; None if it is not set."""
        return str(int(self._value)) if isinstance(self._value, bool) else self._as_text()

    @value.setter
    def value(self, value: Any) -> None:
        self._check(value)
        self._value = value

    def _as_text(self) -> Any:
        return self._value if self._value is None else str(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._value!r})"


def one_of(default: Any, allowed: Iterable[Any]) -> Option:
    allowed = list(allowed)

    def check(value: Any) -> None:
        if value not in allowed:
            raise ValueError(f"Value '{value}' (type: {type(value)}) not in optional list {allowed} (type: {type(allowed[0])}).")

    return Option(default, check)


def _matched(default: str, regex: str, example: str, accepts: Callable[[str], bool]) -> Option:
    def check(value: Any) -> None:
        if not isinstance(value, str):
            raise TypeError("expected string or bytes-like object")
        if not accepts(value):
            raise ValueError(f"Please set legal regex value format match {regex}, {value} is Illegal format, "
                             f"correct example:{example}.")

    return Option(default, check)


def steps(default: str) -> Option:
    return _matched(default, r"^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$", "0|1|2-5|6", _steps.is_torchair)


# TorchAir's own has no hyphen, which the names of PyTorch's operators contain. Linear: a single class.
_LAYERS = re.compile(r'^[0-9a-zA-Z_" "/\\.\-]*$')


def layers(default: str) -> Option:
    return _matched(default, _LAYERS.pattern, "Mul_1 Add1 Conv2D_1", lambda value: _LAYERS.match(value) is not None)


def existing_directory(default: str) -> Option:
    def check(value: Any) -> None:
        if value is None or not os.path.isdir(value):
            raise FileNotFoundError(f"Please set legal dir path, {value} is not found or is not a file directory!")

    return Option(default, check)


def existing_json_file(default: str | None) -> Option:
    def check(value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, str):
            raise TypeError(f"expected a string, not {type(value).__name__}")
        if value == "":
            raise ValueError("File path cannot be empty!")
        if not (os.path.isfile(value) and value.endswith(".json")):
            raise FileNotFoundError(f"Please set legal file path, {value} is not found or is not '.json' file!")

    return Option(default, check)


def anything(default: Any) -> Option:
    return Option(default, lambda value: None)


def _explain(assign: Callable[..., None]) -> Callable[..., None]:
    """Raises the exception again with the original's longer text: its message, its location, and a log line."""

    @functools.wraps(assign)
    def explained(self: Any, name: str, value: Any) -> None:
        try:
            assign(self, name, value)
        except Exception as error:
            rank, device = os.environ.get("RANK", "-1"), os.environ.get("LOCAL_RANK", "-1")
            time = datetime.datetime.now().strftime("%Y-%m-%d-%H:%M:%S")
            line = f"[ERROR] {time} (PID:{os.getpid()}, Device:{device}, RankID:{rank}) ERR03005 GRAPH internal error"
            raise type(error)("\n".join([*map(str, error.args), traceback.format_exc(), line])) from None

    return explained


class Section:
    """Options and sections of options, by attribute. Other attributes are rejected."""

    def __init__(self, **members: Option | Section) -> None:
        self.__dict__.update(members)

    @_explain
    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get(name)
        if known is None:
            raise ValueError(f"{type(self).__name__} has no option {name}, all options {list(self.__dict__)}")
        if isinstance(known, Option):
            known.value = value
        elif isinstance(value, type(known)):
            self.__dict__[name] = value
        else:
            raise TypeError(f"{name} has options of its own: {list(known.__dict__)}")


class Unused(Section):
    """Options that change how an accelerator computes. They are stored and have no effect here."""

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Unused())
