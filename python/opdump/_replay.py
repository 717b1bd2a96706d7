"""Runs recorded operators again in float64, for `opdump blame`: a program of its own that imports nothing of opdump, so
that any Python with a torch can run it.

Reads one JSON request per line and answers each with one line. A request has an operator with its recorded inputs and
outputs, of one side or of both:

    {"function": "aten::mul.Tensor", "sides": {
       "golden": {"arguments": {"self": {"tensor": 0}, "other": {"tensor": 1}},
                  "inputs": {"0": TENSOR, "1": TENSOR}, "outputs": {"0": TENSOR}}, "actual": {...}}}
    TENSOR: {"file": "x.npy", "dtype": "bfloat16", "shape": [2, 3], "offset": 0, "stored": "float32"}
            without a file: a tensor whose bytes were never written; without an offset: a .npy file

The answer has for each output the error against the float64 result in units of what rounding explains (docs/blame.md):

    {"ok": true, "sides": {"golden": {"0": {"r": 0.4, "rho": 0.9, "alpha": 0.01, ...}}, "actual": ...}}
    {"ok": false, "random": false, "reason": "aten::rand is random"}
"""

from __future__ import annotations

import ast
import json
import math
import mmap
import sys
from typing import Any, Optional

sys.path.append(sys.path.pop(0))  # where this file lies: modules of torch come first

import torch  # noqa: E402

_MAX_ELEMENTS = 1 << 28  # of all tensors of a request: in float64 these are 2 GiB
_DRAWS = 4  # of perturbations

# Of a number of this type: half the distance to the next one, relative.
_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53,
             "complex64": 2.0**-24, "complex128": 2.0**-53}
_TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022,
         "complex64": 2.0**-126, "complex128": 2.0**-1022}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
            "float64": sys.float_info.max, "complex64": 3.4028234663852886e38, "complex128": sys.float_info.max}
_ACCUMULATOR = 2.0**-24  # of 16-bit types

# Operators that move or choose elements and compute nothing: their results are exact, casts are rounded once.
_EXACT = frozenset(
    "_to_copy clone copy copy_ contiguous cat stack index_select embedding gather index take repeat flip roll tril triu "
    "relu relu_ threshold threshold_backward masked_fill masked_fill_ where neg abs fill fill_ zero_ zeros zeros_like ones "
    "ones_like full full_like max_pool2d_with_indices constant_pad_nd select_backward slice_backward slice_scatter "
    "select_scatter max min amax amin maximum minimum clamp clamp_ clamp_min clamp_max sort topk "
    "argmax argmin eq ne lt le gt ge logical_not logical_and logical_or bitwise_not bitwise_and bitwise_or "
    "reflection_pad1d reflection_pad2d replication_pad2d upsample_nearest1d upsample_nearest2d one_hot unfold_copy "
    "view_copy permute_copy transpose_copy t_copy expand_copy hardtanh hardtanh_ _reshape_alias_copy masked_select lift_fresh_copy".split())


# What a dump names is run only if it computes: a dump may come from anywhere.
_SPACES = frozenset(("aten", "prims", "mkldnn", "quantized"))


class CannotReplay(Exception):
    """The reason, in words."""

    is_random = False


class IsRandom(CannotReplay):
    is_random = True


# ---- Tensors of a dump.


def _npy_header(file: mmap.mmap) -> tuple[dict[str, Any], int]:
    if file[:6] != b"\x93NUMPY":
        raise CannotReplay("an input is no .npy file")
    size, first = (2, 10) if file[6] == 1 else (4, 12)
    length = int.from_bytes(file[8:8 + size], "little")
    return ast.literal_eval(file[first:first + length].decode("latin1")), first + length


_NPY = {"f2": torch.float16, "f4": torch.float32, "f8": torch.float64, "i1": torch.int8, "i2": torch.int16, "i4": torch.int32,
        "i8": torch.int64, "u1": torch.uint8, "b1": torch.bool, "c8": torch.complex64, "c16": torch.complex128}


def _load(place: dict[str, Any]) -> torch.Tensor:
    """The elements as they are stored; float32 where the file has bfloat16 so."""
    shape = place.get("shape")
    if "file" not in place:
        return torch.zeros(shape, dtype=getattr(torch, place["dtype"]))
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
    return flat.reshape(shape[::-1]).permute(*range(len(shape))[::-1]) if fortran else flat.reshape(shape)


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor.clone()


# ---- The operator.


class Operator:
    def __init__(self, function: str) -> None:
        space, _, name = function.partition("::")
        name, _, overload = name.partition(".")
        self.type, self.name = name, function
        if not space or not name:
            raise CannotReplay("the dump does not name the function that the operator executes")
        if space in ("c10d", "_c10d_functional"):
            raise CannotReplay(f"{function} is a collective of several processes")
        if space not in _SPACES:
            raise CannotReplay(f"{function} is not an operator of torch itself")
        try:
            self._call = getattr(getattr(getattr(torch.ops, space), name), overload or "default")
        except (AttributeError, RuntimeError):
            raise CannotReplay(f"{function} is not an operator of torch {torch.__version__}") from None
        self.schema = self._call._schema
        computes = any("Tensor" in str(r.type) for r in self.schema.returns) or any(
            a.alias_info is not None and a.alias_info.is_write for a in self.schema.arguments)
        if not computes or any("filename" in a.name for a in self.schema.arguments):
            raise CannotReplay(f"{function} does more than compute tensors")
        seeded = getattr(getattr(torch, "Tag", None), "nondeterministic_seeded", None)
        self._is_seeded = seeded is not None and seeded in getattr(self._call, "tags", ())

    def check_random(self, given: dict[str, Any]) -> None:
        names = [a.name for a in self.schema.arguments]
        p = given.get("dropout_p", given.get("p")) if "native_dropout" not in self.name else None
        if p == 0:
            return
        if "generator" in names or self._is_seeded and "attention" not in self.name:
            raise IsRandom(f"{self.name} is random")
        if self._is_seeded and given.get("dropout_p"):
            raise IsRandom(f"{self.name} is random")

    def run(self, given: dict[str, Any], inputs: dict[int, torch.Tensor], is_single: bool) -> list[Optional[torch.Tensor]]:
        """The outputs by index, as the recorder counts them. `is_single`: kernels had numbers of the program in float32."""
        positional, named, written = [], {}, []
        for a in self.schema.arguments:
            if a.name not in given:
                continue
            value = self._convert(given[a.name], a, inputs, is_single)
            if value is None and getattr(a, "is_out", False):
                value = torch.empty(0, dtype=torch.float64)
            if a.kwarg_only:
                named[a.name] = value
            else:
                positional.append(value)
            if self.is_extra_output(a):
                written.append(value)
        with torch.no_grad():
            result = self._call(*positional, **named)
        outputs: list[Optional[torch.Tensor]] = []
        for value in (list(result) if isinstance(result, tuple) else [result]) if self.schema.returns else []:
            _flatten(value, outputs)
        for value in written:
            _flatten(value, outputs)
        return outputs

    def is_extra_output(self, argument: Any) -> bool:
        if argument.name in ("running_mean", "running_var") and "norm" in self.type:
            return True
        alias = argument.alias_info
        if alias is None or not alias.is_write:
            return False
        return not any(r.alias_info is not None and r.alias_info.before_set == alias.before_set for r in self.schema.returns)

    def _convert(self, value: Any, argument: Any, inputs: dict[int, torch.Tensor], is_single: bool) -> Any:
        if isinstance(value, dict):
            if "float" in value:
                return float(value["float"])
            if value["tensor"] not in inputs:
                if getattr(argument, "is_out", False) or argument.name == "out":
                    return torch.empty(0, dtype=torch.float64)
                raise CannotReplay(f"the dump has no data of its argument {argument.name}")
            tensor = inputs[value["tensor"]]
            return tensor.to(torch.float32).to(tensor.dtype) if is_single and "constant" in value else tensor
        if isinstance(value, list):
            return [self._convert(item, argument, inputs, is_single) for item in value]
        if isinstance(value, str):
            return _convert_text(value, argument)
        if isinstance(value, float) and is_single and abs(value) <= _LARGEST["float32"]:
            return torch.tensor(value, dtype=torch.float32).item()
        return value


def _convert_text(text: str, argument: Any) -> Any:
    if text.startswith("torch."):
        found = getattr(torch, text[6:])
        if isinstance(found, torch.dtype) and (found.is_floating_point or found.is_complex):
            return torch.complex128 if found.is_complex else torch.float64
        return found
    if "Device" in str(argument.type):
        return torch.device("cpu")
    if text == "Generator":
        return None
    if "number" in str(argument.type) or "Scalar" in str(argument.type):
        return complex(text)
    return text


def _flatten(value: Any, outputs: list[Optional[torch.Tensor]]) -> None:
    if value is None or isinstance(value, torch.Tensor):
        outputs.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _flatten(item, outputs)


# ---- What rounding explains.


def _contracted(type: str, inputs: dict[int, torch.Tensor], output: torch.Tensor, index: int) -> float:
    """How many products are added up for an element of an output."""
    if not inputs or output.numel() == 0:
        return 1.0
    shapes = [t.shape for _, t in sorted(inputs.items())]
    if type in ("mm", "bmm", "mv", "dot", "linear", "mkldnn_linear", "_addmm_activation") and shapes[0]:
        return float(shapes[0][-1])
    if type in ("addmm", "baddbmm", "addbmm", "addmv") and len(shapes) > 1 and shapes[1]:
        return float(shapes[1][-1])
    if type in ("convolution", "mkldnn_convolution", "_convolution", "thnn_conv2d", "_slow_conv2d_forward") and len(shapes) > 1:
        return float(math.prod(shapes[1][1:]))
    if type == "convolution_backward" and len(shapes) > 2:
        gradient, weight = inputs[min(inputs)], shapes[2]
        return float(math.prod(weight) / max(1, weight[1]) if index == 0 else gradient.numel() / max(1, gradient.shape[1]))
    return max(1.0, max(t.numel() for t in inputs.values()) / output.numel())


def _perturbed(inputs: dict[int, torch.Tensor], u: float, draws: torch.Generator) -> dict[int, torch.Tensor]:
    result = {}
    for index, x in inputs.items():
        if x.is_floating_point() or x.is_complex():
            signs = torch.randint(0, 2, x.shape, generator=draws, dtype=torch.int8).mul_(2).sub_(1)
            x = x * (1 + u * signs.to(torch.float64))
        else:
            x = x.clone()
        result[index] = x
    return result


def _norm(x: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(x))


class Side:
    """An operator on the inputs of one of the two runs."""

    def __init__(self, op: Operator, recorded: dict[str, Any]) -> None:
        self.op, self.arguments = op, recorded["arguments"]
        op.check_random(self.arguments)
        self.places = {int(i): place for i, place in recorded["inputs"].items()}
        self.expected = {int(i): place for i, place in recorded["outputs"].items()}
        self.stored = {i: _load(place) for i, place in self.places.items()}
        self.inputs = {i: _widen(x) for i, x in self.stored.items()}
        self._is_single = not any(place["dtype"] in ("float64", "complex128") for place in self.expected.values())
        self.reference = self.run_with(self.inputs)

    @staticmethod
    def _fresh(inputs: dict[int, torch.Tensor]) -> dict[int, torch.Tensor]:
        return {i: x.clone() for i, x in inputs.items()}  # which the operator may write to

    def run_with(self, inputs: dict[int, torch.Tensor]) -> list[Optional[torch.Tensor]]:
        return self.op.run(self.arguments, self._fresh(inputs), self._is_single)

    def judge(self) -> dict[str, Any]:
        recorded = {i: _load(place) for i, place in self.expected.items() if i < len(self.reference)}
        types = {i: place["dtype"] for i, place in self.expected.items()}
        u = max((_ROUNDOFF.get(types[i], 0.0) for i in recorded), default=0.0)
        if self.op.type in _EXACT:
            return {str(i): self._judge_exact(i, x, types[i]) for i, x in recorded.items()}
        draws = torch.Generator().manual_seed(7)
        runs = [self.run_with(_perturbed(self.inputs, u or 2.0**-24, draws)) for _ in range(_DRAWS)]
        answer = {}
        for i, x in recorded.items():
            y = self.reference[i]
            others = [run[i] for run in runs]
            if y is None or tuple(y.shape) != tuple(x.shape):
                raise CannotReplay(f"output {i} has the shape {list(x.shape)}, and {None if y is None else list(y.shape)} when run again")
            if types[i] in _ROUNDOFF:
                answer[str(i)] = self._judge_float(i, x, types[i], others)
            else:
                flips = torch.zeros(x.shape, dtype=torch.bool)
                for other in others:
                    flips |= other != y
                answer[str(i)] = _count_wrong((x != y) & ~flips, x, y)
        return answer

    def _judge_exact(self, i: int, x: torch.Tensor, dtype: str) -> dict[str, Any]:
        y = self.reference[i]
        if y is None or tuple(y.shape) != tuple(x.shape):
            raise CannotReplay(f"output {i} has another shape when run again")
        target = getattr(torch, dtype, None)
        rounded = y.to(target).to(x.dtype) if target is not None else y.to(x.dtype)
        wrong = (x != rounded) & ~(_is_nan(x) & _is_nan(rounded))
        return _count_wrong(wrong, x, rounded)

    def _judge_float(self, i: int, x: torch.Tensor, dtype: str, runs: list[torch.Tensor]) -> dict[str, Any]:
        u, y, actual = _ROUNDOFF[dtype], self.reference[i], _widen(x)
        s = torch.stack([(run - y).abs() for run in runs]).square().mean(0).sqrt()
        n = _contracted(self.op.type, self.inputs, y, i)
        g = math.sqrt(n) if u <= 2.0**-24 else 1 + math.sqrt(n) * _ACCUMULATOR / u
        may_overflow = y.abs() >= _LARGEST[dtype] * (1 - 64 * u)
        is_finite = torch.isfinite(actual) & torch.isfinite(y) & torch.isfinite(s)
        lost = ~is_finite & ~may_overflow & ~(_is_nan(actual) & ~torch.isfinite(y)) & ~(actual == y) & torch.isfinite(s)
        if bool(lost.any()):
            return _count_wrong(lost, actual, y)
        zero = torch.zeros((), dtype=torch.float64)
        e = torch.where(is_finite, actual - y, zero)
        size, s = torch.where(is_finite, y.abs(), zero), torch.where(is_finite, s, zero)
        ys = torch.where(is_finite, y, zero)
        floor = 0.5 * _norm(s) / math.sqrt(max(1, s.numel()))
        t = g * (u * size + s) + _TINY[dtype]
        ratio = e.abs() / (g * (u * size + s.clamp(min=floor)) + _TINY[dtype])
        norm = _norm(size)
        bias = abs(complex((e * ys.conj()).sum())) / (u * norm * norm) if norm > 0 else 0.0
        bias /= max(1.0, _norm(s) / (u * norm * math.sqrt(max(1, s.numel())))) if norm > 0 else 1.0
        worst = int(ratio.argmax()) if ratio.numel() else 0
        # Of how many independent roundings the bias is a mean: large elements weigh more, equal ones count once.
        fourth = float(size.pow(4).sum())
        independent = norm**4 / fourth if fourth > 0 else 1.0
        if not ys.is_complex():
            independent = min(independent, float(ys.flatten()[:4096].unique().numel()))
        return {"r": _norm(e) / _norm(t) if t.numel() else 0.0, "rho": float(ratio.max()) if ratio.numel() else 0.0, "alpha": bias,
                "relative": _norm(e) / norm if norm > 0 else 0.0, "count": actual.numel(), "independent": independent,
                **_place(worst, actual, y)}


def _is_nan(x: torch.Tensor) -> torch.Tensor:
    return x != x  # noqa: PLR0124 - holds for every type


def _place(flat: int, actual: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    if actual.numel() == 0:
        return {}
    index, rest = [], flat
    for size in reversed(actual.shape):
        index.append(rest % size)
        rest //= size
    values = [str(complex(v)) if v.is_complex() else float(v) for v in (actual.flatten()[flat], y.flatten()[flat])]
    return {"worst": index[::-1], "value": values[0], "reference": values[1]}


def _count_wrong(wrong: torch.Tensor, actual: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    count = int(wrong.sum())
    first = int(wrong.flatten().to(torch.uint8).argmax()) if wrong.numel() else 0
    return {"wrong": count, "count": wrong.numel(), **_place(first, actual, y)}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    op = Operator(request["function"])
    recorded = request["sides"]
    elements = sum(math.prod(place.get("shape") or [1]) for side in recorded.values() for kind in ("inputs", "outputs")
                   for place in side[kind].values())
    if elements > _MAX_ELEMENTS:
        raise CannotReplay(f"its tensors have {elements} elements; the limit is {_MAX_ELEMENTS}")
    sides = {name: Side(op, side) for name, side in recorded.items()}
    return {"ok": True, "sides": {name: side.judge() for name, side in sides.items()}}


def _write_script(request: dict[str, Any]) -> dict[str, Any]:
    import _reproduce

    op, side = Operator(request["function"]), request["side"]
    tensors = {kind: {int(i): _load(place).to(getattr(torch, place["dtype"])) for i, place in side[kind].items()}
               for kind in ("inputs", "outputs")}
    _reproduce.write_script(op, request, tensors["inputs"], tensors["outputs"])
    return {"ok": True}


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def main() -> None:
    replies = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no reply
    for line in sys.stdin:
        try:
            request = json.loads(line)
            reply = _write_script(request) if "script" in request else answer(request)
        except CannotReplay as reason:
            reply = {"ok": False, "random": reason.is_random, "reason": str(reason)}
        except Exception as error:  # noqa: BLE001 - of whatever operator
            text = (str(error).splitlines() or [""])[0]
            reply = {"ok": False, "random": False, "reason": f"torch {torch.__version__} fails: {type(error).__name__}: {text}"}
        replies.write(json.dumps(_finite(reply)) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
