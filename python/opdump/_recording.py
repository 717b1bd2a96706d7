"""opdump.dump: records what runs inside a with statement."""

from __future__ import annotations

import json
import os
import tempfile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from opdump._reading import DumpSet

Config = Union[str, "os.PathLike[str]", "dict[str, Any]"]


class Recording:
    """A part of a program that is recorded; usable once. Made by opdump.dump()."""

    def __init__(self, config: Config, *, mode: str | None, strict: bool) -> None:
        self._config, self._mode, self._strict = config, mode, strict
        self._file: str | None = None
        self.path: str | None = None
        """The directory that the configuration names; None before the beginning."""
        self.complete: bool | None = None
        """Whether everything is in the dump; None until the end."""

    def __enter__(self) -> Recording:
        from opdump import plan, start

        if self._file is not None:
            raise RuntimeError("a recording is used once: call opdump.dump() again")
        self._file = _write(self._config) if isinstance(self._config, dict) else os.path.abspath(self._config)
        try:
            self.path = plan(self._file, mode=self._mode or "auto", strict=self._strict)["root"]
            start(self._file, mode=self._mode, strict=self._strict)
        except BaseException:
            self._forget()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from opdump import stop

        try:
            self.complete = stop()
        finally:
            self._forget()

    def open(self) -> DumpSet:
        """All that is in the configuration's directory, when it is written."""
        from opdump import _reading

        if self.complete is None:
            raise RuntimeError("the recording is not over")
        return _reading.open(self.path)

    def _forget(self) -> None:
        if isinstance(self._config, dict):
            os.unlink(self._file)


def _write(config: dict[str, Any]) -> str:
    descriptor, path = tempfile.mkstemp(prefix="opdump-", suffix=".json")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    return path
