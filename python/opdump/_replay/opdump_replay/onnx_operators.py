"""Operators of ONNX in float64, for `opdump blame`: with torch where this file has them, else with ONNX Runtime, which has
kernels in float64 for some."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

Attributes = dict[str, Any]
Inputs = list[Any]  # tensors; None: not given

NO_INPUTS = "the dump has no data of its inputs, which opdump run -o records"


class NoReference(Exception):
    """The reason, in words."""


# ---- What operators compute. Each gets the attributes, the inputs (None: not given) and the version of the domain.


def _pairs(pads: list[int]) -> list[int]:
    """ONNX: all begins, then all ends. torch: begin and end of the last axis first."""
    half = len(pads) // 2
    return [pads[i + side * half] for i in reversed(range(half)) for side in (0, 1)]


def _window(a: Attributes, size: Any, kernel: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and pads."""
    count = len(kernel)
    strides, dilations = a.get("strides") or [1] * count, a.get("dilations") or [1] * count
    automatic = a.get("auto_pad", "NOTSET")
    if automatic in ("NOTSET", ""):
        return strides, dilations, a.get("pads") or [0] * 2 * count
    if automatic == "VALID":
        return strides, dilations, [0] * 2 * count
    begins, ends = [], []
    for n, k, s, d in zip(size, kernel, strides, dilations):
        total = max(0, (math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n)
        small, large = total // 2, total - total // 2
        begins.append(large if automatic == "SAME_LOWER" else small)
        ends.append(small if automatic == "SAME_LOWER" else large)
    return strides, dilations, begins + ends


def _activated(a: Attributes, y: Tensor) -> Tensor:
    """What ONNX Runtime fused behind a sum of products."""
    name, rest = a.get("activation", ""), a.get("activation_params") or []
    rest = rest or [a[key] for key in ("activation_alpha", "activation_beta", "leaky_relu_alpha") if key in a]
    if name in ("", "Relu", "Tanh", "Sigmoid"):
        return {"": lambda x: x, "Relu": torch.relu, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid}[name](y)
    if name == "LeakyRelu":
        return F.leaky_relu(y, rest[0] if rest else 0.01)
    if name == "Clip" and len(rest) == 2:
        return y.clamp(rest[0], rest[1])
    if name == "HardSigmoid" and len(rest) == 2:
        return (y * rest[0] + rest[1]).clamp(0, 1)
    raise NoReference(f"it is fused with {name}")


def _conv(a: Attributes, x: Inputs, version: int) -> Tensor:
    data, weight = x[0], x[1]
    strides, dilations, pads = _window(a, data.shape[2:], list(weight.shape[2:]))
    call = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[data.dim() - 2]
    y = call(F.pad(data, _pairs(pads)), weight, x[2] if len(x) > 2 else None, strides, 0, dilations, a.get("group", 1))
    return _activated(a, y + x[3] if len(x) > 3 and x[3] is not None else y)


def _conv_transpose(a: Attributes, x: Inputs, version: int) -> Tensor:
    if a.get("output_shape") or a.get("auto_pad", "NOTSET") not in ("NOTSET", ""):
        raise NoReference("its padding follows from the shape of its output")
    count = x[0].dim() - 2
    pads = a.get("pads") or [0] * 2 * count
    if pads[:count] != pads[count:]:
        raise NoReference("its padding is not the same on both sides")
    call = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[count]
    return call(x[0], x[1], x[2] if len(x) > 2 else None, a.get("strides") or 1, pads[:count], a.get("output_padding") or 0,
                a.get("group", 1), a.get("dilations") or 1)


def _gemm(a: Attributes, x: Inputs, version: int) -> Tensor:
    left, right = x[0].t() if a.get("transA") else x[0], x[1].t() if a.get("transB") else x[1]
    y = a.get("alpha", 1.0) * (left @ right)
    return _activated(a, y + a.get("beta", 1.0) * x[2] if len(x) > 2 and x[2] is not None else y)


def _fused_matmul(a: Attributes, x: Inputs, version: int) -> Tensor:
    if a.get("transBatchA") or a.get("transBatchB"):
        raise NoReference("it transposes the batch")
    left, right = (t.transpose(-1, -2) if a.get(name) else t for t, name in ((x[0], "transA"), (x[1], "transB")))
    return a.get("alpha", 1.0) * torch.matmul(left, right)


def _pool(a: Attributes, x: Inputs, version: int) -> tuple[Tensor, list[int], list[int], list[int]]:
    kernel = a["kernel_shape"]
    strides, dilations, pads = _window(a, x[0].shape[2:], kernel)
    if a.get("ceil_mode"):  # more at the end, as long as a window begins within the data
        for i, (n, k, s, d) in enumerate(zip(x[0].shape[2:], kernel, strides, dilations)):
            span = n + pads[i] + pads[i + len(kernel)] - (k - 1) * d - 1
            last = math.ceil(span / s) * s
            if last < n + pads[i]:
                pads = [*pads]
                pads[i + len(kernel)] += max(0, last - span)
    return kernel, strides, dilations, pads  # type: ignore[return-value]


def _max_pool(a: Attributes, x: Inputs, version: int) -> Tensor:
    kernel, strides, dilations, pads = _pool(a, x, version)
    call = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[x[0].dim() - 2]
    return call(F.pad(x[0], _pairs(pads), value=-math.inf), kernel, strides, 0, dilations)


def _average_pool(a: Attributes, x: Inputs, version: int) -> Tensor:
    if a.get("ceil_mode"):
        raise NoReference("its windows reach beyond the data")
    kernel, strides, dilations, pads = _pool(a, x, version)
    if any(d != 1 for d in dilations):
        raise NoReference("its windows are dilated")
    call = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[x[0].dim() - 2]
    y = call(F.pad(x[0], _pairs(pads)), kernel, strides)
    return y if a.get("count_include_pad") else y / call(F.pad(torch.ones_like(x[0]), _pairs(pads)), kernel, strides)


def _batch_norm(a: Attributes, x: Inputs, version: int) -> Tensor:
    if a.get("training_mode"):
        raise NoReference("it is in training mode")
    shape = [1, -1, *[1] * (x[0].dim() - 2)]
    scale, bias, mean, var = (t.view(shape) for t in x[1:5])
    return (x[0] - mean) / torch.sqrt(var + a.get("epsilon", 1e-5)) * scale + bias


def _layer_norm(a: Attributes, x: Inputs, version: int) -> list[Tensor]:
    first = a.get("axis", -1) % x[0].dim()
    axes = list(range(first, x[0].dim()))
    mean = x[0].mean(axes, keepdim=True)
    scale = torch.rsqrt((x[0] - mean).square().mean(axes, keepdim=True) + a.get("epsilon", 1e-5))
    y = (x[0] - mean) * scale * x[1]
    return [y + x[2] if len(x) > 2 and x[2] is not None else y, mean, scale]


def _skip_layer_norm(a: Attributes, x: Inputs, version: int) -> list[Optional[Tensor]]:
    total = x[0] + x[1] + (x[4] if len(x) > 4 and x[4] is not None else 0)
    return [_layer_norm({"epsilon": a.get("epsilon", 1e-12)}, [total, x[2], x[3] if len(x) > 3 else None], version)[0], None, None, total]


def _instance_norm(a: Attributes, x: Inputs, version: int) -> Tensor:
    return F.instance_norm(x[0], weight=x[1], bias=x[2], eps=a.get("epsilon", 1e-5))


def _softmax(a: Attributes, x: Inputs, version: int, call: Callable[..., Tensor] = torch.softmax) -> Tensor:
    if version >= 13:
        return call(x[0], a.get("axis", -1))
    axis = a.get("axis", 1) % x[0].dim()
    return call(x[0].reshape(math.prod(x[0].shape[:axis]), -1), 1).reshape(x[0].shape)


def _reduce(compute: Callable[[Tensor, list[int], bool], Tensor]) -> Callable[[Attributes, Inputs, int], Tensor]:
    def call(a: Attributes, x: Inputs, version: int) -> Tensor:
        axes = a.get("axes") or (x[1].tolist() if len(x) > 1 and x[1] is not None else None)
        if not axes and a.get("noop_with_empty_axes"):
            return x[0]
        return compute(x[0], list(axes) if axes else list(range(x[0].dim())), bool(a.get("keepdims", 1)))
    return call


def _product(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def _reshape(a: Attributes, x: Inputs, version: int) -> Tensor:
    wanted = [int(n) for n in (x[1].tolist() if len(x) > 1 else a["shape"])]
    return x[0].reshape([x[0].shape[i] if n == 0 and not a.get("allowzero") else n for i, n in enumerate(wanted)])


def _slice(a: Attributes, x: Inputs, version: int) -> Tensor:
    def numbers(name: str, at: int) -> Optional[list[int]]:
        return [int(n) for n in x[at].tolist()] if len(x) > at and x[at] is not None else a.get(name)

    y, starts, ends = x[0], numbers("starts", 1) or [], numbers("ends", 2) or []
    axes, steps = numbers("axes", 3) or range(len(starts)), numbers("steps", 4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        places = list(range(y.shape[axis]))[slice(start, None if step < 0 and end < -y.shape[axis] else end, step)]
        y = y.index_select(axis, torch.tensor(places, dtype=torch.int64))
    return y


def _gather(a: Attributes, x: Inputs, version: int) -> Tensor:
    axis = a.get("axis", 0) % x[0].dim()
    places = torch.where(x[1] < 0, x[1] + x[0].shape[axis], x[1]).to(torch.int64)
    return x[0].index_select(axis, places.flatten()).reshape(*x[0].shape[:axis], *places.shape, *x[0].shape[axis + 1:])


def _axes(a: Attributes, x: Inputs) -> Optional[list[int]]:
    return a.get("axes") or ([int(n) for n in x[1].tolist()] if len(x) > 1 and x[1] is not None else None)


def _squeeze(a: Attributes, x: Inputs, version: int) -> Tensor:
    axes = _axes(a, x)
    chosen = {axis % x[0].dim() for axis in axes} if axes else {i for i, n in enumerate(x[0].shape) if n == 1}
    return x[0].reshape([n for i, n in enumerate(x[0].shape) if i not in chosen])


def _unsqueeze(a: Attributes, x: Inputs, version: int) -> Tensor:
    axes = _axes(a, x) or []
    shape, count = list(x[0].shape), x[0].dim() + len(axes)
    for axis in sorted(axis % count for axis in axes):
        shape.insert(axis, 1)
    return x[0].reshape(shape)


def _split(a: Attributes, x: Inputs, version: int) -> list[Tensor]:
    axis = a.get("axis", 0)
    sizes = a.get("split") or (x[1].tolist() if len(x) > 1 and x[1] is not None else None)
    if not sizes and not a.get("num_outputs"):
        raise NoReference("the number of its parts is not in the dump")
    return list(torch.split(x[0], sizes or math.ceil(x[0].shape[axis] / a["num_outputs"]), axis))


def _clip(a: Attributes, x: Inputs, version: int) -> Tensor:
    low = x[1] if len(x) > 1 and x[1] is not None else a.get("min")
    high = x[2] if len(x) > 2 and x[2] is not None else a.get("max")
    y = x[0]
    if low is not None:
        y = torch.maximum(y, torch.as_tensor(low, dtype=y.dtype))
    return y if high is None else torch.minimum(y, torch.as_tensor(high, dtype=y.dtype))


def _pad(a: Attributes, x: Inputs, version: int) -> Tensor:
    if a.get("mode", "constant") != "constant" or (len(x) > 3 and x[3] is not None):
        raise NoReference("it repeats the edge, or pads chosen axes")
    pads = [int(n) for n in (x[1].tolist() if len(x) > 1 else a["pads"])]
    return F.pad(x[0], _pairs(pads), value=float(x[2]) if len(x) > 2 and x[2] is not None else a.get("value", 0.0))


def _divide(a: Attributes, x: Inputs, version: int) -> Tensor:
    return torch.div(x[0], x[1], rounding_mode=None if x[0].is_floating_point() else "trunc")


def _cast(a: Attributes, x: Inputs, version: int) -> Tensor:
    kinds = {2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool}
    return x[0].to(kinds.get(a.get("to", 0), torch.float64))


def _gelu(a: Attributes, x: Inputs, version: int) -> Tensor:
    y = x[0] + x[1] if len(x) > 1 and x[1] is not None else x[0]
    if a.get("approximate", "none") == "tanh":
        return 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
    return F.gelu(y)


def _all(compute: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Attributes, Inputs, int], Tensor]:
    def call(a: Attributes, x: Inputs, version: int) -> Tensor:
        y = x[0]
        for other in x[1:]:
            y = compute(y, other)
        return y
    return call


def _one(compute: Callable[..., Tensor], **numbers: float) -> Callable[[Attributes, Inputs, int], Tensor]:
    """`numbers`: attributes with what they are by default."""
    def call(a: Attributes, x: Inputs, version: int) -> Tensor:
        return compute(*x, *(a.get(name, usual) for name, usual in numbers.items()))
    return call


_COMPUTED: dict[str, Callable[..., Any]] = {
    "Conv": _conv, "FusedConv": _conv, "ConvTranspose": _conv_transpose, "Gemm": _gemm, "FusedGemm": _gemm,
    "MatMul": lambda a, x, v: torch.matmul(x[0], x[1]), "FusedMatMul": _fused_matmul,
    "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm, "SkipLayerNormalization": _skip_layer_norm,
    "InstanceNormalization": _instance_norm, "Softmax": _softmax,
    "LogSoftmax": lambda a, x, v: _softmax(a, x, v, torch.log_softmax),
    "AveragePool": _average_pool, "MaxPool": _max_pool,
    "GlobalAveragePool": lambda a, x, v: x[0].mean(list(range(2, x[0].dim())), keepdim=True),
    "GlobalMaxPool": lambda a, x, v: x[0].amax(list(range(2, x[0].dim())), keepdim=True),
    "ReduceSum": _reduce(lambda x, axes, keep: x.sum(axes, keepdim=keep)),
    "ReduceMean": _reduce(lambda x, axes, keep: x.mean(axes, keepdim=keep)),
    "ReduceMax": _reduce(lambda x, axes, keep: x.amax(axes, keepdim=keep)),
    "ReduceMin": _reduce(lambda x, axes, keep: x.amin(axes, keepdim=keep)),
    "ReduceProd": _reduce(_product),
    "ReduceL1": _reduce(lambda x, axes, keep: x.abs().sum(axes, keepdim=keep)),
    "ReduceL2": _reduce(lambda x, axes, keep: x.square().sum(axes, keepdim=keep).sqrt()),
    "ReduceSumSquare": _reduce(lambda x, axes, keep: x.square().sum(axes, keepdim=keep)),
    "ReduceLogSumExp": _reduce(lambda x, axes, keep: torch.logsumexp(x, axes, keepdim=keep)),
    "Add": _all(torch.add), "Sub": _all(torch.sub), "Mul": _all(torch.mul), "Div": _divide, "Sum": _all(torch.add),
    "Pow": _one(lambda x, y: torch.pow(x, y.to(x.dtype))), "Max": _all(torch.maximum), "Min": _all(torch.minimum),
    "Mean": lambda a, x, v: _all(torch.add)(a, x, v) / len(x), "Sqrt": _one(torch.sqrt), "Reciprocal": _one(torch.reciprocal),
    "Exp": _one(torch.exp), "Log": _one(torch.log), "Erf": _one(torch.erf), "Sin": _one(torch.sin), "Cos": _one(torch.cos),
    "Tan": _one(torch.tan), "Asin": _one(torch.asin), "Acos": _one(torch.acos), "Atan": _one(torch.atan), "Sinh": _one(torch.sinh),
    "Cosh": _one(torch.cosh), "Asinh": _one(torch.asinh), "Acosh": _one(torch.acosh), "Atanh": _one(torch.atanh),
    "Celu": _one(F.celu, alpha=1.0), "ThresholdedRelu": _one(lambda x, alpha: torch.where(x > alpha, x, 0.0), alpha=1.0),
    "Tanh": _one(torch.tanh), "Sigmoid": _one(torch.sigmoid), "Softplus": _one(lambda x: torch.logaddexp(x, torch.zeros_like(x))),
    "Softsign": _one(F.softsign), "LeakyRelu": _one(F.leaky_relu, alpha=0.01), "Elu": _one(F.elu, alpha=1.0),
    "Selu": _one(lambda x, alpha, gamma: gamma * torch.where(x > 0, x, alpha * torch.expm1(x)), alpha=1.67326319217681884765625,
                 gamma=1.05070102214813232421875),
    "HardSigmoid": _one(lambda x, alpha, beta: (x * alpha + beta).clamp(0, 1), alpha=0.2, beta=0.5),
    "HardSwish": _one(lambda x: x * (x / 6 + 0.5).clamp(0, 1)), "Mish": _one(F.mish), "Gelu": _gelu, "BiasGelu": _gelu,
    "FastGelu": lambda a, x, v: _gelu({"approximate": "tanh"}, x, v),
    "QuickGelu": _one(lambda x, alpha: x * torch.sigmoid(alpha * x), alpha=1.702),
    "PRelu": _one(lambda x, slope: torch.where(x < 0, x * slope, x)),
}

# Elements are moved or chosen, or the result is one bit.
_EXACT: dict[str, Callable[..., Any]] = {
    "Relu": _one(torch.relu), "Identity": _one(torch.clone), "Abs": _one(torch.abs), "Neg": _one(torch.neg), "Sign": _one(torch.sign),
    "Floor": _one(torch.floor), "Ceil": _one(torch.ceil), "Round": _one(torch.round), "Not": _one(torch.logical_not),
    "Clip": _clip, "Cast": _cast, "Reshape": _reshape, "Slice": _slice, "Gather": _gather, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze, "Split": _split, "Pad": _pad, "Where": _one(torch.where),
    "Flatten": lambda a, x, v: x[0].reshape(math.prod(x[0].shape[:a.get("axis", 1)]) if a.get("axis", 1) else 1, -1),
    "Transpose": lambda a, x, v: x[0].permute(a.get("perm") or list(range(x[0].dim()))[::-1]),
    "Concat": lambda a, x, v: torch.cat(x, a["axis"]),
    "Expand": lambda a, x, v: x[0].expand(torch.broadcast_shapes(x[0].shape, tuple(x[1].tolist()))),
    "Tile": lambda a, x, v: x[0].repeat(x[1].tolist()), "Shape": lambda a, x, v: torch.tensor(x[0].shape),
    "Dropout": lambda a, x, v: x[0],
    "Equal": _one(torch.eq), "Greater": _one(torch.gt), "Less": _one(torch.lt), "GreaterOrEqual": _one(torch.ge),
    "LessOrEqual": _one(torch.le), "And": _one(torch.logical_and), "Or": _one(torch.logical_or),
}

_EXACT_TYPES = frozenset((*(name for name in _EXACT), "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "Max", "Min"))

# What _rounding.py calls operators of the same rounding.
_NAMES = {"Conv": "convolution", "FusedConv": "convolution", "MatMul": "mm", "Gemm": "mm", "FusedGemm": "mm", "FusedMatMul": "mm",
          "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Sqrt": "sqrt", "Reciprocal": "reciprocal",
          "ReduceSum": "sum", "ReduceMean": "mean", "GlobalAveragePool": "mean"}

# Of a layout in blocks. A dump has its tensors in the layout of ONNX, and the engine would not run them so.
BLOCKED = "com.microsoft.nchwc"

_RANDOM = ("RandomNormal", "RandomUniform", "Bernoulli", "Multinomial")


def is_onnx(function: str) -> bool:
    """"onnx::Conv.13", "com.microsoft::FusedConv.1"."""
    return function.partition("::")[0] in ("onnx", "com.microsoft", BLOCKED)


class OnnxOperator:
    """As _replay.Operator, of which it has what Side and _reproduce use."""

    writes = False  # to its inputs

    def __init__(self, function: str) -> None:
        self.name = function
        self.domain, _, rest = function.partition("::")
        self.onnx_type, _, version = rest.partition(".")
        self.version = int(version) if version.isdigit() else 17
        fused = self.onnx_type in ("FusedConv", "FusedGemm")  # whose bound is not that of a sum
        self.type = "clone" if self.onnx_type in _EXACT_TYPES else \
            "fused" if fused else _NAMES.get(self.onnx_type, self.onnx_type)

    def is_random(self, given: Attributes, inputs: int) -> bool:
        trains = self.onnx_type == "Dropout" and inputs > 2
        return self.onnx_type.startswith(_RANDOM) or trains

    @staticmethod
    def attributes(given: Attributes) -> Attributes:
        return {name: _number(value) for name, value in given.items()}

    def run(self, given: Attributes, inputs: dict[int, Tensor], constants: Optional[torch.dtype]) -> list[Optional[Tensor]]:
        """The outputs by index."""
        attributes = self.attributes(given)
        x = [inputs.get(i) for i in range(max(inputs, default=-1) + 1)]
        if not x and self.onnx_type != "Constant":
            raise NoReference(NO_INPUTS)
        compute = _COMPUTED.get(self.onnx_type) or _EXACT.get(self.onnx_type)
        if compute is None and self.domain == BLOCKED:
            raise NoReference(f"opdump has no reference of {self.onnx_type} in blocks")
        if compute is None:
            return _run_engine(self, attributes, x)
        with torch.no_grad():
            y = compute(attributes, x, self.version)
        return list(y) if isinstance(y, (list, tuple)) else [y]

    def is_extra_output(self, argument: Any) -> bool:
        return False


def _number(value: Any) -> Any:
    if isinstance(value, dict) and "float" in value:
        return float(value["float"])
    return [_number(item) for item in value] if isinstance(value, list) else value


def make_model(op: OnnxOperator, attributes: Attributes, x: list[Any], outputs: int) -> bytes:
    """A model of the one operator; `x`: arrays of NumPy, None: not given."""
    import onnx
    from onnx import helper

    domain = "" if op.domain == "onnx" else op.domain
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(x)]
    made = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op.onnx_type, names, made, domain=domain, **{k: v for k, v in attributes.items() if v is not None})
    types = onnx.mapping.NP_TYPE_TO_TENSOR_TYPE if hasattr(onnx, "mapping") else None
    kind = (lambda value: types[value.dtype]) if types else (lambda value: helper.np_dtype_to_tensor_dtype(value.dtype))
    graph = helper.make_graph([node], "operator", [helper.make_tensor_value_info(name, kind(value), list(value.shape))
                                                   for name, value in zip(names, x) if value is not None],
                              [onnx.ValueInfoProto(name=name) for name in made])
    opsets = [helper.make_opsetid(domain, op.version)] + ([helper.make_opsetid("", 17)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def _needed_outputs(op: OnnxOperator) -> int:
    """Those that are not optional; of operators that ONNX does not know, the first."""
    from onnx import defs

    domain = "" if op.domain == "onnx" else op.domain
    return max(1, defs.get_schema(op.onnx_type, op.version, domain).min_output) if defs.has(op.onnx_type, domain) else 1


def _run_engine(op: OnnxOperator, attributes: Attributes, x: Inputs) -> list[Optional[Tensor]]:
    """With ONNX Runtime, whose kernel must be one in float64."""
    try:
        import onnx  # noqa: F401 - make_model needs it
        import onnxruntime
    except ImportError as missing:
        raise NoReference(f"opdump has no reference of {op.onnx_type}, and this Python has no {missing.name}") from None
    arrays = [None if value is None else value.contiguous().numpy() for value in x]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        model = make_model(op, attributes, arrays, _needed_outputs(op))
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        results = session.run(None, {f"x{i}": value for i, value in enumerate(arrays) if value is not None})
    except Exception as error:  # of its own types, several
        failure = (str(error).splitlines() or [""])[0].rpartition(" : ")[2].rpartition("Status Message: ")[2]
        raise NoReference(f"ONNX Runtime cannot run {op.onnx_type} in float64: {failure}") from None
    return [torch.from_numpy(value.copy()) for value in results]
