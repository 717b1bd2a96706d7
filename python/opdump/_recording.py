"""opdump.record and opdump.dump: record what runs inside a with statement."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from opdump import _on_import, _stderr

if TYPE_CHECKING:
    from opdump._reading import DumpSet

StrPath = Union[str, "os.PathLike[str]"]
Config = Union[StrPath, "dict[str, Any]"]
Steps = Union[int, str, Iterable[int]]

CONFIG_NAME = "opdump_config.json"  # as `opdump run -o` calls it


class Recording:
    """A recorded part of a program, created by opdump.record() and opdump.dump(). Usable once."""

    def __init__(self, config: Config, *, mode: str | None = None, strict: bool = False, existing: str | None = None) -> None:
        self._config, self._mode, self._strict, self._existing = config, mode, strict, existing
        self.path: str | None = None
        """The configured directory; None before the beginning."""
        self.complete: bool | None = None
        """Whether everything is in the dump; None until the end."""

    def __enter__(self) -> Recording:
        if self.path is not None:
            raise RuntimeError("a recording is used once: call opdump.record() or opdump.dump() again")
        self._recorder = _on_import.recorder()
        path, name, text = self._prepare()
        self._recorder.start(name, text=text, mode=self._mode, strict=self._strict, existing=self._existing)
        self.path = path
        return self

    def _prepare(self) -> tuple[str, str, str | None]:
        """The configured directory, the name of the configuration, and its text if it is not a file."""
        from opdump import _reading

        name, text = _reading.name_and_text(self._config)
        if text is None:
            name = os.path.abspath(name)
        return _reading.read_plan(name, text, mode=self._mode or "auto", strict=self._strict)["root"], name, text

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.complete = self._recorder.stop(error)

    def open(self) -> DumpSet:
        """Opens the dump in the configured directory after the recording."""
        from opdump import _reading

        if self.path is None or self.complete is None:
            raise RuntimeError("the recording has not ended")
        return _reading.open(self.path)


class _Request(Recording):
    """A recording that is described by arguments instead of a configuration. Needs the recording part of opdump only."""

    def __init__(self, output: str, arguments: dict[str, Any], existing: str | None) -> None:
        super().__init__({}, existing=existing)
        self._output, self._arguments = output, arguments

    def __enter__(self) -> Recording:
        super().__enter__()
        try:
            _write(os.path.join(self._output, CONFIG_NAME), self._text)
        except OSError as error:  # the dump is what the program wants
            _stderr.print_line(f"the configuration is not beside the dump: {error}")
        return self

    def _prepare(self) -> tuple[str, str, str]:
        from opdump import _errors

        if self._output:  # nothing is not this directory
            self._output = os.path.abspath(self._output)
        try:
            self._text = self._recorder.make_config(self._output, **self._arguments)
        except ValueError as error:
            raise _errors.make("config", str(error)) from None
        return self._output, os.path.join(self._output, CONFIG_NAME), self._text


def record(output: StrPath, *, steps: Steps, ops: str | None, module: str | None, tensors: bool | None, stats: bool,
           budget: str | int | None, existing: str | None) -> Recording:
    """See opdump.record."""
    for name, value in (("ops", ops), ("module", module)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be a regular expression as str, or None, not {type(value).__name__}")
    if budget is not None and not isinstance(budget, (str, int)):
        raise TypeError(f"budget must be a str such as \"20G\", a number of bytes or None, not {type(budget).__name__}")
    path = os.fspath(output)
    if not isinstance(path, str):
        raise TypeError(f"output must be a path as str, not {type(path).__name__}")
    arguments = {"steps": _steps_text(steps), "ops": ops, "module": module, "budget": None if budget is None else str(budget),
                 "tensors": bool(tensors), "statistics": bool(stats)}
    return _Request(path, arguments, existing)


def _steps_text(steps: Steps) -> str:
    """"0,10-20" of numbers."""
    if isinstance(steps, str):
        return steps
    if isinstance(steps, range) and steps.step == 1 and len(steps) > 0:
        return f"{steps.start}-{steps.stop - 1}"
    try:
        numbers = [operator.index(step) for step in (steps if isinstance(steps, Iterable) else [steps])]
    except TypeError:
        raise TypeError(f"steps must be a number, numbers, \"0,10-20\" or \"all\", not {steps!r}") from None
    if not numbers:
        raise ValueError("steps has no number")
    return ",".join(map(str, numbers))


def _write(path: str, text: str) -> None:
    """Other ranks may do the same."""
    temporary = f"{path}.tmp{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
