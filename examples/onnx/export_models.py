#!/usr/bin/env python3
"""Makes ONNX models to try opdump on: networks of torchvision with random but fixed weights, a small one that it trains,
and small graphs built by hand for what networks do not show.

Usage: export_models.py DIRECTORY [NAME ...]     without names: all but the large ones (resnet50, alexnet)
       export_models.py --list
Beside NAME.onnx it writes an input for each of its inputs, NAME/INPUT.npy.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

MODELS = {}
LARGE = ("resnet50", "alexnet")


def model(function):
    MODELS[function.__name__] = function
    return function


def rng():
    return np.random.default_rng(7)


def normal(*shape, dtype="f4"):
    return rng().standard_normal(shape).astype(dtype)


def info(name, dtype, shape):
    return h.make_tensor_value_info(name, dtype, shape)


def save(directory, name, nodes, inputs, outputs, constants=(), opset=13, values=None, **more):
    """Writes a graph built by hand, and `values` for its inputs."""
    graph = h.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(v, k) for k, v in dict(constants).items()])
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
    onnx.save(made, str(directory / f"{name}.onnx"), **more)
    save_inputs(directory, name, values)


def save_inputs(directory, name, values):
    (directory / name).mkdir(exist_ok=True)
    for key, value in (values or {}).items():
        np.save(directory / name / f"{key}.npy", value)


def export(directory, name, network, example, **more):
    """Writes a network of torch with the input `data`."""
    import torch

    network.eval()
    torch.onnx.export(network, example, str(directory / f"{name}.onnx"), input_names=["data"], output_names=["scores"],
                      opset_version=13, **more)
    save_inputs(directory, name, {"data": example.numpy()})


def vision(name, size=224, batch=1):
    import torch
    import torchvision

    torch.manual_seed(7)
    network = getattr(torchvision.models, name)(weights=None)
    return network, torch.rand(batch, 3, size, size, generator=torch.Generator().manual_seed(7))


@model
def resnet50(directory):
    network, example = vision("resnet50")
    export(directory, "resnet50", network, example, dynamic_axes={"data": {0: "batch"}, "scores": {0: "batch"}})


@model
def alexnet(directory):
    export(directory, "alexnet", *vision("alexnet"))


def digits_network():
    import torch

    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                               torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
                               torch.nn.Linear(256, 10))


@model
def digits(directory):
    """Learns to read handwritten digits in a few seconds."""
    import torch
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.tensor(data.images[:, None], dtype=torch.float32) / 16
    labels = torch.tensor(data.target)
    network = digits_network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    for step in range(60):
        chosen = slice(step * 24, step * 24 + 24)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(images[chosen]), labels[chosen]).backward()
        optimizer.step()
    export(directory, "digits", network, images[:4])
    torch.save(network.state_dict(), directory / "digits.pt")


@model
def branch(directory):
    """If: one of two subgraphs, which take a value from outside."""
    double = h.make_graph([h.make_node("Add", ["r", "r"], ["doubled"], name="double")], "then", [], [info("doubled", T.FLOAT, [4])])
    negate = h.make_graph([h.make_node("Neg", ["r"], ["negated"], name="negate")], "else", [], [info("negated", T.FLOAT, [4])])
    save(directory, "branch", [
        h.make_node("Relu", ["x"], ["r"], name="relu"),
        h.make_node("If", ["yes"], ["chosen"], name="choose", then_branch=double, else_branch=negate),
        h.make_node("Exp", ["chosen"], ["y"], name="exp"),
    ], [info("x", T.FLOAT, [4]), info("yes", T.BOOL, [])], [info("y", T.FLOAT, [4])],
         values={"x": normal(4), "yes": np.array(True)})


@model
def loop(directory):
    """Loop: multiplies by two `times` times."""
    body = h.make_graph([h.make_node("Identity", ["on"], ["on_out"]), h.make_node("Mul", ["v", "two"], ["v_out"], name="twice")],
                        "body", [info("i", T.INT64, []), info("on", T.BOOL, []), info("v", T.FLOAT, [3])],
                        [info("on_out", T.BOOL, []), info("v_out", T.FLOAT, [3])])
    save(directory, "loop", [
        h.make_node("Neg", ["x"], ["n"], name="neg"),
        h.make_node("Loop", ["times", "", "n"], ["grown"], name="grow", body=body),
        h.make_node("Abs", ["grown"], ["y"], name="abs"),
    ], [info("x", T.FLOAT, [3]), info("times", T.INT64, [])], [info("y", T.FLOAT, [3])],
         {"two": np.array([2], "f4")}, values={"x": normal(3), "times": np.array(5)})


@model
def quantised(directory):
    """QuantizeLinear, QLinearConv, DequantizeLinear."""
    weight = rng().integers(-128, 128, (4, 3, 3, 3)).astype("i1")
    constants = {"xs": np.array(0.02, "f4"), "xz": np.array(128, "u1"), "w": weight, "ws": np.array(0.01, "f4"),
                 "wz": np.array(0, "i1"), "ys": np.array(0.05, "f4"), "yz": np.array(120, "u1")}
    save(directory, "quantised", [
        h.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], name="quantize"),
        h.make_node("QLinearConv", ["xq", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["yq"], name="conv"),
        h.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"], name="dequantize"),
    ], [info("x", T.FLOAT, [1, 3, 8, 8])], [info("y", T.FLOAT, [1, 4, 6, 6])], constants, values={"x": normal(1, 3, 8, 8)})


@model
def int8(directory):
    """Integer matrices."""
    save(directory, "int8", [h.make_node("MatMulInteger", ["x", "w"], ["y"], name="matmul")],
         [info("x", T.INT8, [2, 5])], [info("y", T.INT32, [2, 3])],
         {"w": rng().integers(-128, 128, (5, 3)).astype("i1")}, values={"x": rng().integers(-128, 128, (2, 5)).astype("i1")})


@model
def half(directory):
    """float16 and bfloat16."""
    save(directory, "half", [
        h.make_node("Add", ["x", "b"], ["sum"], name="add"),
        h.make_node("Cast", ["sum"], ["brain"], name="to_bfloat16", to=T.BFLOAT16),
        h.make_node("Cast", ["brain"], ["y"], name="to_float", to=T.FLOAT),
    ], [info("x", T.FLOAT16, [6])], [info("y", T.FLOAT, [6])], {"b": normal(6, dtype="f2")}, values={"x": normal(6, dtype="f2")})


@model
def dynamic(directory):
    """Dimensions that are known only when it runs: some have names, the last one not even that."""
    save(directory, "dynamic", [
        h.make_node("Relu", ["x"], ["r"], name="relu"),
        h.make_node("NonZero", ["r"], ["places"], name="nonzero"),
        h.make_node("Transpose", ["places"], ["y"], name="transpose"),
    ], [info("x", T.FLOAT, ["batch", "width"])], [info("y", T.INT64, [None, 2])], values={"x": normal(3, 4)})


@model
def batch(directory):
    """Any number of images of one size."""
    save(directory, "batch", [h.make_node("Relu", ["x"], ["y"], name="relu")],
         [info("x", T.FLOAT, ["n", 2, 3, 3])], [info("y", T.FLOAT, ["n", 2, 3, 3])], values={"x": normal(4, 2, 3, 3)})


@model
def image(directory):
    """Two channels of an image of any size."""
    save(directory, "image", [h.make_node("Relu", ["x"], ["y"], name="relu")],
         [info("x", T.FLOAT, [1, 2, "height", "width"])], [info("y", T.FLOAT, [1, 2, "height", "width"])],
         values={"x": normal(1, 2, 3, 4)})


@model
def several(directory):
    """Several outputs, one of them left out; an operator without a name; an output that is a constant."""
    save(directory, "several", [
        h.make_node("Split", ["x"], ["a", "b"], name="split", axis=1),
        h.make_node("Unique", ["a"], ["different", "", "places"], name="unique"),
        h.make_node("Dropout", ["b"], ["kept"], name="drop"),
        h.make_node("Neg", ["kept"], ["negated"]),
        h.make_node("Identity", ["w"], ["copy"], name="copy"),
    ], [info("x", T.FLOAT, [2, 6])], [info("places", T.INT64, None), info("negated", T.FLOAT, None), info("copy", T.FLOAT, None),
                                     info("w", T.FLOAT, None)],
         {"w": normal(2)}, values={"x": normal(2, 6)})


@model
def words(directory):
    """Strings, a sequence, an empty tensor."""
    save(directory, "words", [
        h.make_node("Constant", [], ["text"], name="text", value=h.make_tensor("t", T.STRING, [2], [b"a", b"b"])),
        h.make_node("Identity", ["text"], ["same"], name="same"),
        h.make_node("SequenceConstruct", ["x", "x"], ["both"], name="pair"),
        h.make_node("ConcatFromSequence", ["both"], ["joined"], name="join", axis=0),
        h.make_node("Slice", ["joined", "none", "none"], ["empty"], name="nothing"),
        h.make_node("Neg", ["joined"], ["y"], name="neg"),
    ], [info("x", T.FLOAT, [3])], [info("y", T.FLOAT, None), info("same", T.STRING, None)],
         {"none": np.array([0])}, values={"x": normal(3)})


@model
def beside(directory):
    """Weights in another file."""
    save(directory, "beside", [h.make_node("MatMul", ["x", "w"], ["p"], name="matmul"), h.make_node("Add", ["p", "b"], ["y"], name="add")],
         [info("x", T.FLOAT, [2, 40])], [info("y", T.FLOAT, [2, 30])], {"w": normal(40, 30), "b": normal(30)},
         values={"x": normal(2, 40)}, save_as_external_data=True, location="beside.weights", size_threshold=0)


@model
def overflow(directory):
    """The second operator divides by zero."""
    save(directory, "overflow", [
        h.make_node("Abs", ["x"], ["a"], name="absolute"),
        h.make_node("Div", ["one", "a"], ["d"], name="divide"),
        h.make_node("Less", ["d", "one"], ["y"], name="less"),
    ], [info("x", T.FLOAT, [3])], [info("y", T.BOOL, [3])], {"one": np.ones(3, "f4")}, values={"x": np.array([1, 0, -2], "f4")})


@model
def failing(directory):
    """The third operator fails: a shape that does not fit, which is known only when it runs."""
    save(directory, "failing", [
        h.make_node("Relu", ["x"], ["r"], name="relu"),
        h.make_node("Neg", ["r"], ["n"], name="neg"),
        h.make_node("Reshape", ["n", "shape"], ["s"], name="reshape"),
        h.make_node("Exp", ["s"], ["y"], name="exp"),
    ], [info("x", T.FLOAT, ["n"]), info("shape", T.INT64, [2])], [info("y", T.FLOAT, None)],
         values={"x": normal(5), "shape": np.array([2, 3])})


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(MODELS))
        return 0
    if len(sys.argv) < 2 or any(name not in MODELS for name in sys.argv[2:]):
        print(__doc__, file=sys.stderr)
        return 2
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or [name for name in MODELS if name not in LARGE]:
        MODELS[name](directory)
        print(directory / f"{name}.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
