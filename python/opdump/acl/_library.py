"""libascendcl.so, and how its functions become those of pyACL: arguments that C writes to are returned, before the code."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Iterable
from typing import Any

from opdump import _building

POINTER, SIZE, INT, UINT, INT64, UINT64, FLOAT, TEXT = (c.c_void_p, c.c_size_t, c.c_int32, c.c_uint32, c.c_int64, c.c_uint64, c.c_float,
                                                        c.c_char_p)
Function = Callable[..., Any]
Status = Callable[..., int]
_library = c.CDLL(str(_building.library("libascendcl.so")))


class Dims(c.Structure):
    """aclmdlIODims."""

    _fields_ = [("name", c.c_char * 128), ("count", SIZE), ("dims", INT64 * 128)]

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name.decode(errors="replace"), "dimCount": self.count, "dims": self.dims[:self.count]}


def _define(name: str, types: Iterable[Any], result: Any = INT) -> Callable[..., Any]:
    function = getattr(_library, name)
    function.argtypes, function.restype = list(types), result
    return function


def _encode(arguments: Iterable[Any]) -> list[Any]:
    return [argument.encode() if isinstance(argument, str) else argument for argument in arguments]


def _plain(value: Any) -> Any:
    """A result as a number; a NULL is 0."""
    return value.value or 0


def returns(result: Any, name: str, *types: Any) -> Callable[..., Any]:
    """The function's own result."""
    function = _define(name, types, result)

    def call(*arguments: Any) -> Any:
        value = function(*_encode(arguments))
        if result is TEXT:
            return (value or b"").decode(errors="replace")
        return 0 if value is None and result is POINTER else value

    return call


def code(name: str, *types: Any) -> Callable[..., int]:
    """ret = f(...)"""
    return returns(INT, name, *types)


def first(result: Any, name: str, *types: Any) -> Callable[..., Any]:
    """value, ret = f(...): C writes the value to its first argument."""
    function = _define(name, [c.POINTER(result), *types])

    def call(*arguments: Any) -> tuple[Any, int]:
        value = result()
        ret = function(c.byref(value), *_encode(arguments))
        return _plain(value), ret

    return call


def last(result: Any, name: str, *types: Any) -> Callable[..., Any]:
    """value, ret = f(...): C writes the value to its last argument."""
    function = _define(name, [*types, c.POINTER(result)])

    def call(*arguments: Any) -> tuple[Any, int]:
        value = result()
        ret = function(*_encode(arguments), c.byref(value))
        return value.as_dict() if isinstance(value, Dims) else _plain(value), ret

    return call


def several(count: int, result: Any, name: str, *types: Any) -> Callable[..., Any]:
    """a, b, ret = f(...): C writes to its last `count` arguments."""
    function = _define(name, [*types, *[c.POINTER(result)] * count])

    def call(*arguments: Any) -> tuple[Any, ...]:
        values = [result() for _ in range(count)]
        ret = function(*_encode(arguments), *map(c.byref, values))
        return *map(_plain, values), ret

    return call


def array(kind: Any, values: Iterable[Any]) -> Any:
    values = list(values)
    return (kind * len(values))(*values)
