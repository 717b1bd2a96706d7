"""Tensors of a dump, and why something cannot be run again."""

from __future__ import annotations

import ast
import math
import mmap
from typing import Any

import torch


class CannotReplay(Exception):
    """The reason, in words."""

    is_random = False


class IsRandom(CannotReplay):
    is_random = True


def _npy_header(file: mmap.mmap) -> tuple[dict[str, Any], int]:
    if file[:6] != b"\x93NUMPY":
        raise CannotReplay("an input is no .npy file")
    size, first = (2, 10) if file[6] == 1 else (4, 12)
    length = int.from_bytes(file[8:8 + size], "little")
    return ast.literal_eval(file[first:first + length].decode("latin1")), first + length


_NPY = {"f2": torch.float16, "f4": torch.float32, "f8": torch.float64, "i1": torch.int8, "i2": torch.int16, "i4": torch.int32,
        "i8": torch.int64, "u1": torch.uint8, "b1": torch.bool, "c8": torch.complex64, "c16": torch.complex128}


def load(place: dict[str, Any]) -> torch.Tensor:
    """The elements as they are stored; float32 where the file has bfloat16 so."""
    shape: list[int] = place.get("shape", [])
    if "file" not in place:
        start, stop = place.get("rows", (0, 0))
        return torch.zeros([stop - start, *shape[1:]] if "rows" in place else shape, dtype=getattr(torch, place["dtype"]))
    with open(place["file"], "rb") as f:
        file = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
    if "offset" in place:
        dtype, offset, fortran = getattr(torch, place["stored"]), place["offset"], False
    else:
        header, offset = _npy_header(file)
        dtype, shape, fortran = _NPY.get(header["descr"][1:]), list(header["shape"]), header["fortran_order"]
        if dtype is None or header["descr"][0] == ">":
            raise CannotReplay(f"an input has the element type {header['descr']}")
    count = math.prod(shape)
    if count == 0:
        return torch.zeros(shape, dtype=dtype)
    flat = torch.frombuffer(file, dtype=dtype, count=count, offset=offset)
    whole = flat.reshape(shape[::-1]).permute(*range(len(shape))[::-1]) if fortran else flat.reshape(shape)
    return whole[slice(*place["rows"])] if "rows" in place else whole
