"""opdump.dump: records what runs inside a with statement."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from opdump._reading import DumpSet

Config = Union[str, "os.PathLike[str]", "dict[str, Any]"]


class Recording:
    """A recorded part of a program, created by opdump.dump(). Usable once."""

    def __init__(self, config: Config, *, mode: str | None, strict: bool, existing: str | None) -> None:
        self._config, self._mode, self._strict, self._existing = config, mode, strict, existing
        self.path: str | None = None
        """The configured directory; None before the beginning."""
        self.complete: bool | None = None
        """Whether everything is in the dump; None until the end."""

    def __enter__(self) -> Recording:
        import torch  # noqa: F401  (recording hooks a complete torch)

        from opdump import _attach, _reading

        if self.path is not None:
            raise RuntimeError("a recording is used once: call opdump.dump() again")
        name, text = _reading.name_and_text(self._config)
        if text is None:
            name = os.path.abspath(name)
        path = _reading.read_plan(name, text, mode=self._mode or "auto", strict=self._strict)["root"]
        _attach.start(name, text=text, mode=self._mode, strict=self._strict, existing=self._existing)
        self.path = path
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from opdump import _attach

        self.complete = _attach.stop(error)

    def open(self) -> DumpSet:
        """Opens the dump in the configured directory after the recording."""
        from opdump import _reading

        if self.complete is None:
            raise RuntimeError("the recording has not ended")
        return _reading.open(self.path)
