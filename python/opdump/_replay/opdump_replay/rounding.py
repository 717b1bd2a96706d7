"""What rounding explains of an operator's output (docs/blame.md), for `opdump blame`."""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any, Callable, Optional

import torch

# Of a number of this type: half the distance to the next one, relative.
ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53,
            "complex64": 2.0**-24, "complex128": 2.0**-53}
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022,
        "complex64": 2.0**-126, "complex128": 2.0**-1022}
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
           "float64": 1.7976931348623157e308, "complex64": 3.4028234663852886e38, "complex128": 1.7976931348623157e308}
_ACCUMULATOR = 2.0**-24  # of 16-bit types

# What is known of operators by their type, in one table for C++ and Python.
_KINDS: dict[str, list[str]] = json.loads((pathlib.Path(__file__).parents[2] / "operator_traits.json").read_text())["replay"]

# Operators that move or choose elements and compute nothing: their results are exact, casts are rounded once.
EXACT = frozenset(_KINDS["exact"])

# Each element of the result is rounded few times, and depends on few elements.
_ROUNDED_ONCE = frozenset(_KINDS["rounded_once"])

# Sums of products: |f(x, w)| <= f(|x|, |w|), which bounds what rounding can do in whatever order.
_SUMS = frozenset(_KINDS["sums"])

Tensors = dict[int, torch.Tensor]
Outputs = list[Optional[torch.Tensor]]
Gains = dict[str, dict[str, dict[str, dict[str, Any]]]]  # what of, type of numbers, kind of operator: "runs", "whole", "peak"

_LIMITS = pathlib.Path(__file__).parents[2] / "blame_limits.json"
_LARGEST_GAINS = 8  # as kLargest of src/compare/rules/gains/gains.h


class Limits:
    """Up to where an error is rounding: three times the 99.9th percentile of runs without a fault, by type of the output and of
    the operator, where that is more than the usual limits; from the file of the package and from the user's."""

    DEFAULT = (8.0, 64.0, 4.0)  # r, rho, alpha
    ROUNDED_ONCE = (3.0, 6.0, 0.35)
    _FLOOR = (1.0, 1.1, 0.35)  # no error of a right result is a reason for less
    _FEW = 100  # runs; fewer do not say what is no rounding

    def __init__(self, own: str = "") -> None:
        self._measured: dict[str, dict[str, list[float]]] = {}
        self.gains: Gains = {}
        for path in (_LIMITS, *([pathlib.Path(own)] if own else [])):
            limits, gains = read_limits(path)
            merge_gains(self.gains, gains)
            for dtype, operators in limits.items():
                for operator, of in operators.items():
                    known = self._measured.setdefault(dtype, {}).get(operator, [0.0, 0.0, 0.0, 0])
                    self._measured[dtype][operator] = [max(a, b) for a, b in zip(known, of)]

    def find(self, operator: str, dtype: str) -> dict[str, list[float]]:
        """The limits of rounding, and those beyond which nothing but a fault is left."""
        usual = self.ROUNDED_ONCE if operator in _ROUNDED_ONCE else self.DEFAULT
        found = self._measured.get(dtype, {}).get(operator, [0.0, 0.0, 0.0, 0])
        # Only where IEEE 754 prescribes the result do some machines say what all do.
        is_less = operator in _ROUNDED_ONCE and found[3] >= self._FEW
        limits = [max(m, f) for m, f in zip(found, self._FLOOR if is_less else usual)]
        return {"limits": limits, "certain": [4 * max(x, d) for x, d in zip(limits, usual)]}


def read_limits(path: pathlib.Path) -> tuple[dict[str, dict[str, list[float]]], Gains]:
    """Raises ValueError if it is not such a file. One of an older opdump has no gains."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        limits = {dtype: {operator: [float(of[key]) for key in ("r", "rho", "alpha", "runs")] for operator, of in operators.items()}
                  for dtype, operators in read["limits"].items()}
        gains: Gains = {}
        merge_gains(gains, read.get("gains", {}))
        return limits, gains
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: no limits of opdump blame: {type(error).__name__}: {error}") from None


def merge_gains(gains: Gains, others: Gains) -> None:
    """Adds samples of src/compare/rules/gains/gains.h: of each kind of operator the number, and the largest ones."""
    for of, types in others.items():
        for dtype, kinds in types.items():
            for kind, other in kinds.items():
                known = gains.setdefault(of, {}).setdefault(dtype, {}).setdefault(kind, {"runs": 0, "whole": [], "peak": []})
                known["runs"] += int(other["runs"])
                for key in ("whole", "peak"):
                    known[key] = sorted((float(x) for x in known[key] + other[key]), reverse=True)[:_LARGEST_GAINS]


def _format_gains(gains: Gains) -> str:
    """A line for each kind of operator."""
    def numbers(values: list[float]) -> str:
        return "[" + ", ".join(f"{x:.3g}" for x in values) + "]"

    def row(kind: str, of: dict[str, Any]) -> str:
        return f'  {json.dumps(kind)}: {{"runs": {of["runs"]}, "whole": {numbers(of["whole"])}, "peak": {numbers(of["peak"])}}}'

    return ",\n".join(
        f'"{of}": {{\n' + ",\n".join(
            f'"{dtype}": {{\n' + ",\n".join(row(*item) for item in sorted(kinds.items())) + "\n}" for dtype, kinds in sorted(types.items()))
        + "\n}" for of, types in sorted(gains.items()))


class Calibration:
    """Errors of runs without a fault."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], list[tuple[float, float, float]]] = {}

    def add(self, operator: str, outputs: dict[str, Any], types: dict[int, str]) -> None:
        for index, of in outputs.items():
            if "wrong" not in of and types[int(index)] not in ("float64", "complex128"):  # which is what runs again
                # A bias counts by what it exceeds chance by.
                self._seen.setdefault((types[int(index)], operator), []).append(
                    (of["r"], of["rho"], of["alpha"] if of["alpha"] > 8 * of["chance"] else 0.0))

    def write(self, path: str, gains: Gains) -> None:
        """Adds to what the file has: the larger limits stay."""
        limits, all_gains = read_limits(pathlib.Path(path)) if os.path.exists(path) else ({}, {})
        merge_gains(all_gains, gains)
        for (dtype, operator), seen in self._seen.items():
            new = [3 * _percentile([of[i] for of in seen if math.isfinite(of[i])]) for i in range(3)]
            old = limits.setdefault(dtype, {}).get(operator, [0.0, 0.0, 0.0, 0])
            limits[dtype][operator] = [*(max(a, b) for a, b in zip(old, new)), old[3] + len(seen)]
        rows = [f'"{dtype}": {{\n' + ",\n".join(
            f'  {json.dumps(operator)}: {{"r": {of[0]:.4g}, "rho": {of[1]:.4g}, "alpha": {of[2]:.4g}, "runs": {int(of[3])}}}'
            for operator, of in sorted(operators.items())) + "\n}" for dtype, operators in sorted(limits.items())]
        text = '{"schema_version": 1, "limits": {\n' + ",\n".join(rows) + '\n}, "gains": {\n' + _format_gains(all_gains) + "\n}}\n"
        temporary = path + ".new"
        with open(temporary, "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(temporary, path)


def _percentile(values: list[float]) -> float:
    """The 99.9th; the largest of less than 1000."""
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(0.999 * len(values)) - 1)] if values else 0.0


def contracted(type: str, inputs: Tensors, output: torch.Tensor, index: int) -> float:
    """How many products are added up for an element of an output."""
    if not inputs or output.numel() == 0:
        return 1.0
    shapes = [t.shape for _, t in sorted(inputs.items())]
    if type in ("mm", "bmm", "mv", "dot", "linear", "mkldnn_linear", "_addmm_activation", "_grouped_mm") and shapes[0]:
        return float(shapes[0][-1])
    if type in ("addmm", "baddbmm", "addbmm", "addmv") and len(shapes) > 1 and shapes[1]:
        return float(shapes[1][-1])
    if type in ("convolution", "mkldnn_convolution", "_convolution", "thnn_conv2d", "_slow_conv2d_forward") and len(shapes) > 1:
        return float(math.prod(shapes[1][1:]))
    if type == "convolution_backward" and len(shapes) > 2:
        gradient, weight = inputs[min(inputs)], shapes[2]
        return float(math.prod(weight) / max(1, weight[1]) if index == 0 else gradient.numel() / max(1, gradient.shape[1]))
    return max(1.0, max(t.numel() for t in inputs.values()) / output.numel())


def perturb(inputs: Tensors, u: float, draws: torch.Generator) -> Tensors:
    """Every number times 1 + u or 1 - u, at random."""
    result = {}
    eight = torch.arange(256).unsqueeze(1).bitwise_right_shift(torch.arange(8)).bitwise_and_(1)  # bits of a byte, which takes as long as one
    factors = eight.to(torch.float64).mul_(2 * u).add_(1 - u)
    for index, x in inputs.items():
        if x.is_floating_point() or x.is_complex():
            drawn = torch.randint(0, 256, (-(-x.numel() // 8),), generator=draws, dtype=torch.uint8)
            x = factors.index_select(0, drawn.to(torch.int32)).flatten()[:x.numel()].reshape(x.shape) * x
        else:
            x = x.clone()
        result[index] = x
    return result


def norm(x: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(x))


def widen(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor.clone()


class Explained:
    """What rounding does to one output: y is its exact value, `others` are those of perturbed inputs; none of them: whatever
    rounding makes of any operator."""

    def __init__(self, type: str, inputs: Tensors, index: int, dtype: str, y: torch.Tensor, others: Sequence[torch.Tensor] = ()) -> None:
        y = y.to(torch.complex128 if y.is_complex() else torch.float64)
        self.type, self.y, self.dtype, self.u = type, y, dtype, ROUNDOFF[dtype]
        self.s = torch.zeros(y.shape if others else (), dtype=torch.float64)
        for other in others:
            change = (other - y).abs()
            self.s.addcmul_(change, change, value=1 / len(others))
        self.s.sqrt_()
        self.n = contracted(type, inputs, y, index)
        self.g = math.sqrt(self.n) if self.u <= 2.0**-24 else 1 + math.sqrt(self.n) * _ACCUMULATOR / self.u

    def judge(self, x: torch.Tensor, worst_case: Optional[Callable[[], Optional[torch.Tensor]]] = None) -> dict[str, Any]:
        """Of x as it was recorded. `worst_case` gives what the sum of the sizes of all its terms is."""
        u, y, tiny, s, actual = self.u, self.y, TINY[self.dtype], self.s, widen(x)
        if all(math.isfinite(norm(of)) for of in (actual, y, s)):
            e, size = actual - y, y.abs()
        else:
            is_finite, zero = torch.isfinite(actual) & torch.isfinite(y) & torch.isfinite(s), torch.zeros((), dtype=torch.float64)
            may_overflow = y.abs() >= LARGEST[self.dtype] * (1 - 64 * u)
            lost = ~is_finite & ~may_overflow & ~(is_nan(actual) & ~torch.isfinite(y)) & ~(actual == y) & torch.isfinite(s)
            if bool(lost.any()):
                return count_wrong(lost, actual, y)
            e, s = torch.where(is_finite, actual - y, zero), torch.where(is_finite, s, zero)
            y = torch.where(is_finite, y, zero)
            size = y.abs()
        t = (u * size).add_(s).mul_(self.g).add_(tiny)
        floor = 0.5 * norm(s) / math.sqrt(max(1, s.numel()))
        ratio = e.abs().div_((u * size).add_(s.clamp(min=floor)).mul_(self.g).add_(tiny) if floor > 0 else t)
        worst = int(ratio.argmax()) if ratio.numel() else 0
        answer = {"r": norm(e) / norm(t) if norm(t) > 0 else 0.0 if norm(e) == 0 else math.inf,
                  "rho": float(ratio.flatten()[worst]) if ratio.numel() else 0.0,
                  "relative": norm(e) / norm(size) if norm(size) > 0 else 0.0, "count": actual.numel(),
                  **self._bias(e, y, t), **place(worst, actual, self.y)}
        is_open = answer["r"] > 1 or answer["rho"] > 4 or answer["alpha"] > 1
        sizes = worst_case() if worst_case is not None and is_open else None
        if sizes is not None and sizes.shape == e.shape:
            unit = u if u <= 2.0**-24 else _ACCUMULATOR
            bound = self.n * unit * sizes.abs().nan_to_num(0.0, math.inf) + u * size + tiny
            answer["beyond"] = float((e.abs() / bound).max())
        return answer

    def _bias(self, e: torch.Tensor, y: torch.Tensor, t: torch.Tensor) -> dict[str, float]:
        """Do all elements go the same way, and more than errors of size t do by chance? The last rounding of a right result is no
        bias: x + 1e-8 is x for many x."""
        length, u = norm(y), self.u
        if not length > 0:
            return {"alpha": 0.0, "chance": 0.0}
        part = (y / length).flatten()
        error = (y - widen(y.to(getattr(torch, self.dtype)))).add_(e).flatten().div_(length)
        common = torch.vdot(part, error)
        # Equal elements have equal errors.
        weight = part.abs()
        fourth = norm(weight.square()) ** 2
        independent = 1 / fourth if fourth > 0 else 1.0
        unique = independent if y.is_complex() else float(y.flatten()[:4096].unique().numel())
        spread = norm(t.flatten() * weight) / length
        # Elements of a sum of products have errors of their own, and what is left without the bias is their size. Of few
        # elements it is often too small by chance: the factor is that of Student's t at one in a million, by 8.
        freedom = min(independent, unique) - 1
        if self.type in _SUMS and freedom > 2:
            spread = min(spread, norm(error.sub_(common * part).mul_(weight)) * (1 + 330 / freedom**3))
        return {"alpha": abs(complex(common)) / u, "chance": spread / u * math.sqrt(max(1.0, independent / unique))}


def judge_exact(x: torch.Tensor, y: torch.Tensor, dtype: str) -> dict[str, Any]:
    target = getattr(torch, dtype, None)
    rounded = y.to(target).to(x.dtype) if target is not None else y.to(x.dtype)
    return count_wrong((x != rounded) & ~(is_nan(x) & is_nan(rounded)), x, rounded)


def is_sum(type: str, arguments: dict[str, Any]) -> bool:
    return type in _SUMS and all(isinstance(arguments.get(name, 1), (int, float)) and arguments.get(name, 1) >= 0
                                 for name in ("alpha", "beta"))


def is_nan(x: torch.Tensor) -> torch.Tensor:
    return x != x  # holds for every type


def place(flat: int, actual: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    if actual.numel() == 0:
        return {}
    index, rest = [], flat
    for size in reversed(actual.shape):
        index.append(rest % size)
        rest //= size
    values = [str(complex(v)) if v.is_complex() else float(v) for v in (actual.flatten()[flat], y.flatten()[flat])]
    return {"worst": index[::-1], "value": values[0], "reference": values[1]}


def count_wrong(wrong: torch.Tensor, actual: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    count = int(wrong.sum())
    first = int(wrong.flatten().to(torch.uint8).argmax()) if wrong.numel() else 0
    return {"wrong": count, "count": wrong.numel(), **place(first, actual, y)}
