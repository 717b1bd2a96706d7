"""Quantises an ONNX model (QDQ), calibrated with one input. Usage: quantise_export.py MODEL INPUT.npy OUTPUT"""

import sys

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Once(CalibrationDataReader):
    def __init__(self, path):
        self.left = iter([{"data": np.load(path)}])

    def get_next(self):
        return next(self.left, None)


quantize_static(sys.argv[1], sys.argv[3], Once(sys.argv[2]), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8)
