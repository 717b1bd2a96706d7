"""Dump files as arrays: parse_dump_file(), as msprobe and msit call it."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import opdump_program
from cmp_utils.constant.compare_error import CompareError


class DumpTensor:
    """A tensor as it is stored: `data` in the shape and the layout of the device."""

    def __init__(self, path: str, side: str, index: int, slot: dict[str, Any], data: np.ndarray) -> None:
        self.path, self.side, self.index, self.data = path, side, index, data
        self.data_type, self.tensor_format, self.format = slot["dtype"], slot.get("format"), slot.get("format")
        self.shape, self.size = list(data.shape), data.nbytes


class DumpData:
    """What a dump file holds."""

    def __init__(self, path: str, input_data: list[DumpTensor], output_data: list[DumpTensor]) -> None:
        self.path, self.input_data, self.output_data = path, input_data, output_data
        self.buffer: list[DumpTensor] = []
        self.space: list[DumpTensor] = []


def arrays(path: str, *options: str) -> dict[tuple[str, int], np.ndarray]:
    """The tensors of a file by ("input", 0), converted as `options` of `msaccucmp convert` say. Raises CompareError."""
    with tempfile.TemporaryDirectory() as folder:
        code, text = opdump_program.convert(path, folder, "-t", "npy", *options)
        if code != CompareError.MSACCUCMP_NONE_ERROR:
            raise CompareError(code, text.strip())
        found = {}
        base = os.path.basename(path)
        for name in os.listdir(folder):
            fields = name[len(base) + 1:].split(".") if name.startswith(base + ".") else []
            if len(fields) >= 3 and fields[0] in ("input", "output"):
                found[fields[0], int(fields[1])] = np.load(os.path.join(folder, name))
        return found


def parse_dump_file(path: str, dump_version: object = None) -> DumpData:
    """The tensors of a dump file of any kind. `dump_version` is not needed: the kind shows. Raises CompareError."""
    path = os.path.realpath(path)
    try:
        slots = opdump_program.slots(path)
    except ValueError as error:
        raise CompareError(CompareError.MSACCUCMP_INVALID_DUMP_DATA_ERROR, str(error)) from None
    stored = arrays(path)
    tensors: dict[str, list[DumpTensor]] = {"input": [], "output": []}
    for slot in slots:
        side, index = slot["slot"].split(".")[0], int(slot["slot"].split(".")[1])
        if (side, index) in stored:
            tensors[side].append(DumpTensor(path, side, index, slot, stored[side, index]))
    return DumpData(path, tensors["input"], tensors["output"])


def read_numpy_file(path: str) -> np.ndarray:
    return np.load(path)
