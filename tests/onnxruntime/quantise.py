"""A small convolutional network as ONNX model, in float32 and quantised by onnxruntime.quantization.

Usage: quantise.py DIRECTORY; writes float.onnx, int8.onnx (QDQ), integers.onnx (QOperator), dynamic.onnx, the first two with a wrong
scale, wrong.onnx and wrong_integers.onnx, and images.npy.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

directory = pathlib.Path(sys.argv[1])
random = np.random.default_rng(0)


def weight(name, *shape):
    fan = np.prod(shape[1:])
    return numpy_helper.from_array((random.standard_normal(shape) / fan**0.5).astype(np.float32), name)


nodes = [
    helper.make_node("Conv", ["images", "w1", "b1"], ["c1"], "/conv1/Conv", kernel_shape=[3, 3]),
    helper.make_node("Relu", ["c1"], ["r1"], "/relu1/Relu"),
    helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "/conv2/Conv", kernel_shape=[3, 3]),
    helper.make_node("Relu", ["c2"], ["r2"], "/relu2/Relu"),
    helper.make_node("Conv", ["r2", "w3", "b3"], ["c3"], "/conv3/Conv", kernel_shape=[1, 1]),
    helper.make_node("Add", ["c3", "r2"], ["s3"], "/Add"),
    helper.make_node("GlobalAveragePool", ["s3"], ["p"], "/pool/GlobalAveragePool"),
    helper.make_node("Flatten", ["p"], ["f"], "/Flatten"),
    helper.make_node("Gemm", ["f", "w4", "b4"], ["scores"], "/head/Gemm", transB=1),
]
weights = [weight("w1", 8, 3, 3, 3), weight("b1", 8, 1), weight("w2", 16, 8, 3, 3), weight("b2", 16, 1),
           weight("w3", 16, 16, 1, 1), weight("b3", 16, 1), weight("w4", 10, 16), weight("b4", 10, 1)]
for tensor in weights:
    if tensor.name.startswith("b"):
        del tensor.dims[1:]
graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("images", TensorProto.FLOAT, [4, 3, 16, 16])],
                          [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [4, 10])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.checker.check_model(model)
onnx.save(model, directory / "float.onnx")
images = random.random((4, 3, 16, 16)).astype(np.float32)
np.save(directory / "images.npy", images)


class Images(CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"images": images}])

    def get_next(self):
        return next(self.left, None)


quantize_static(directory / "float.onnx", directory / "int8.onnx", Images(), quant_format=QuantFormat.QDQ,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
quantize_static(directory / "float.onnx", directory / "integers.onnx", Images(), quant_format=QuantFormat.QOperator,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
quantize_dynamic(directory / "float.onnx", directory / "dynamic.onnx", weight_type=QuantType.QUInt8)
for name, wrong, scale in (("int8", "wrong", "r2_scale"), ("integers", "wrong_integers", "c2_scale")):
    model = onnx.load(directory / f"{name}.onnx")
    for tensor in model.graph.initializer:
        if tensor.name == scale:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) / 4, tensor.name))
    onnx.save(model, directory / f"{wrong}.onnx")
