"""Python objects as pointers, and back."""

from __future__ import annotations

import ctypes as c
from collections import deque
from typing import Any

import numpy as np

# Programs pass temporary objects: bytes_to_ptr(image.tobytes()). These last until others have taken their place.
_recent: deque[Any] = deque(maxlen=16)
_DTYPES = {np.dtype(letter).num: np.dtype(letter) for letter in "?bBhHiIlLqQefdgFDG"}  # by NumPy's number


def bytes_to_ptr(data: bytes | bytearray) -> int:
    """Where the bytes are. A bytearray cannot change its size meanwhile."""
    _recent.append(data)
    if isinstance(data, bytearray):
        view = (c.c_char * len(data)).from_buffer(data)
        _recent[-1] = view
        return c.addressof(view)
    return c.cast(c.c_char_p(data), c.c_void_p).value or 0


def ptr_to_bytes(pointer: int, size: int) -> bytes:
    """A copy."""
    return c.string_at(pointer, size)


def numpy_to_ptr(array: np.ndarray[Any, Any]) -> int:
    _recent.append(array)
    return array.ctypes.data


def numpy_contiguous_to_ptr(array: np.ndarray[Any, Any]) -> int:
    return numpy_to_ptr(np.ascontiguousarray(array))


def ptr_to_numpy(pointer: int, shape: tuple[int, ...], data_type: int) -> np.ndarray[Any, Any]:
    """An array on the memory itself. `data_type`: NumPy's number of the type (NPY_FLOAT32 is 11)."""
    dtype = _DTYPES[data_type]
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(memoryview((c.c_char * size).from_address(pointer)), dtype).reshape(shape)
