"""ConvertSingleTensorFormat: a tensor of parse_dump_file() in the layout of a program."""

from __future__ import annotations

import numpy as np
from dump_parse.dump_utils import DumpTensor, arrays

_TARGETS = {"NC1HWC0": "NCHW", "NC1HWC0_C04": "NCHW", "FRACTAL_Z": "NCHW", "FRACTAL_Z_C04": "NCHW", "C1HWNCoC0": "NCHW",
            "NDC1HWC0": "NCDHW", "FRACTAL_Z_3D": "NCDHW", "FRACTAL_NZ": "ND"}


class ConvertSingleTensorFormat:
    def __call__(self, tensor: DumpTensor) -> np.ndarray:
        """The elements in their original shape: of a device's layout, without the padding."""
        target = _TARGETS.get(tensor.tensor_format or "")
        if target is None:  # it is a program's
            return tensor.data.reshape(tensor.shape)
        return arrays(tensor.path, "-f", target, f"-{tensor.side[0]}", str(tensor.index))[tensor.side, tensor.index]
