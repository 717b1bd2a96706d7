"""What the reading half raises. The text is the core's: where, what, and what was expected."""

from __future__ import annotations


class Error(Exception):
    """Something opdump could not do. `code` is "usage", "config", "not_found", "io", "corrupt", "unsupported", "limit" or
    "internal"."""

    code: str = "internal"


class ConfigError(Error, ValueError):
    """A configuration or an argument is wrong. The text of a configuration's begins with file:line:column."""


class NotFoundError(Error, FileNotFoundError):
    """There is no such path, operator or slot, or no dump in it."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReadError(Error, OSError):
    """The system refused to read or write."""

    def __str__(self) -> str:
        return str(self.args[0])


_CLASSES = {"usage": ConfigError, "config": ConfigError, "not_found": NotFoundError, "io": ReadError}


def make(code: str, text: str) -> Error:
    error = _CLASSES.get(code, Error)(text)
    error.code = code
    return error
