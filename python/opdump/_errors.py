"""Exceptions of the reading part. The text comes from the core: where, what, and what was expected."""

from __future__ import annotations


class Error(Exception):
    """A failure of opdump. `code` is "usage", "config", "not_found", "io", "corrupt", "unsupported", "limit" or
    "internal"."""

    code: str = "internal"


class ConfigError(Error, ValueError):
    """Wrong configuration or argument. For a configuration the text begins with file:line:column."""


class NotFoundError(Error, FileNotFoundError):
    """No such path, operator or slot, or no dump at the path."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReadError(Error, OSError):
    """The operating system failed to read or write."""

    def __str__(self) -> str:
        return str(self.args[0])


_CLASSES = {"usage": ConfigError, "config": ConfigError, "not_found": NotFoundError, "io": ReadError}


def make(code: str, text: str) -> Error:
    error = _CLASSES.get(code, Error)(text)
    error.code = code
    return error
