"""An operator on what was recorded of one run: what its outputs are, and how far they are from what was recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Optional, Union

import torch

from . import pieces, rounding
from .onnx_operators import OnnxOperator, is_onnx
from .rounding import ROUNDOFF, Tensors, widen
from .tensors import CannotReplay, IsRandom, load
from .torch_operators import Operator

AnyOperator = Union[Operator, OnnxOperator]
_DRAWS = 4  # of perturbations


def make_operator(function: str) -> AnyOperator:
    return OnnxOperator(function) if is_onnx(function) else Operator(function)


class Side:
    """An operator on the inputs of one of the two runs."""

    def __init__(self, op: AnyOperator, recorded: dict[str, Any], limits: rounding.Limits, is_brief: bool = True) -> None:
        """`is_brief`: of what is surely rounding, how much of it conditioning explains is not measured."""
        self.op, self.arguments, self._limits, self._is_brief = op, recorded["arguments"], limits, is_brief
        if isinstance(op, Operator):
            op.check_random(self.arguments)
        elif op.is_random(self.arguments, len(recorded["inputs"])):
            raise IsRandom(f"{op.name} is random")
        self.expected = {int(i): place for i, place in recorded["outputs"].items()}
        self.types = {i: place["dtype"] for i, place in self.expected.items()}
        self.inputs = {int(i): widen(load(place)) for i, place in recorded["inputs"].items()}
        self.u = max((ROUNDOFF.get(dtype, 0.0) for dtype in self.types.values()), default=0.0)
        is_double = any(dtype in ("float64", "complex128") for dtype in self.types.values())
        self.constants = None if is_double else torch.float32
        self._runs: dict[Optional[torch.dtype], list[list[Optional[torch.Tensor]]]] = {}
        self.reference = self.run_with(self.inputs)

    def run_with(self, inputs: Tensors, arguments: Optional[dict[str, Any]] = None) -> list[Optional[torch.Tensor]]:
        if self.op.writes:
            inputs = {i: x.clone() for i, x in inputs.items()}
        return self.op.run(self.arguments if arguments is None else arguments, inputs, self.constants)

    def judge(self) -> dict[str, Any]:
        """By output. Kernels of 16-bit types may have rounded the numbers of the program to that type, others may compute with them
        in float64, as a fused Adam does 1 - beta: what fits better counts."""
        recorded = {i: load(place) for i, place in self.expected.items() if i < len(self.reference)}
        answer = self._judge(recorded)
        small = next((dtype for dtype in self.types.values() if dtype in ("float16", "bfloat16")), None)
        usual = self.constants
        if self._has_constants() and (small is not None or (usual is not None and not pieces.are_rounding(answer.values()))):
            self.constants = None if small is None else getattr(torch, small)
            first, self.reference = self.reference, self.run_with(self.inputs)
            for i, other in self._judge(recorded).items():
                if other.get("relative", math.inf) < answer[i].get("relative", 0.0):
                    answer[i] = other
            self.constants, self.reference = usual, first
        return answer

    def _has_constants(self) -> bool:
        return any(isinstance(value, float) or (isinstance(value, dict) and "constant" in value) for value in self.arguments.values())

    def _judge(self, recorded: dict[int, torch.Tensor]) -> dict[str, Any]:
        answer = {}
        for i, x in recorded.items():
            y = self.reference[i]
            if y is None or tuple(y.shape) != tuple(x.shape):
                raise CannotReplay(f"output {i} has the shape {list(x.shape)}, and {None if y is None else list(y.shape)} when run again")
            answer[str(i)] = self.judge_output(i, x)
        return answer

    def judge_output(self, i: int, x: torch.Tensor) -> dict[str, Any]:
        """Of x as output i."""
        y = self.reference[i]
        if self.op.type in rounding.EXACT:
            return rounding.judge_exact(x, y, self.types[i])
        is_rounded = self.types[i] in ROUNDOFF
        if self._is_brief and is_rounded:
            answer = self._explain(i, x)
            if "wrong" not in answer and all(answer[key] <= limit for key, limit in zip(("r", "rho", "alpha"), answer["limits"])):
                return answer  # conditioning only allows for more
        others = [run[i] for run in self.perturbed()]
        if is_rounded:
            return self._explain(i, x, others)
        flips = torch.zeros(x.shape, dtype=torch.bool)
        for other in others:
            flips |= other != y
        return rounding.count_wrong((x != y) & ~flips, x, y)

    def _explain(self, i: int, x: torch.Tensor, others: Sequence[torch.Tensor] = ()) -> dict[str, Any]:
        explained = rounding.Explained(self.op.type, self.inputs, i, self.types[i], self.reference[i], others)
        is_sum = rounding.is_sum(self.op.type, self.arguments)
        answer = explained.judge(x, (lambda: self._sizes(i)) if others and is_sum else None)
        if "wrong" not in answer:
            answer.update(self._limits.find(self.op.type, self.types[i]), sum=is_sum)
            if others and is_sum and answer["r"] > answer["limits"][0]:
                self._find_precision(i, x, explained, answer)
        return answer

    def perturbed(self) -> list[list[Optional[torch.Tensor]]]:
        if self.constants not in self._runs:
            draws = torch.default_generator.manual_seed(7)
            self._runs[self.constants] = [self.run_with(rounding.perturb(self.inputs, self.u or 2.0**-24, draws)) for _ in range(_DRAWS)]
        return self._runs[self.constants]

    def _sizes(self, i: int) -> Optional[torch.Tensor]:
        return self.run_with({j: x.abs() if x.is_floating_point() or x.is_complex() else x for j, x in self.inputs.items()})[i]

    def _find_precision(self, i: int, x: torch.Tensor, explained: rounding.Explained, answer: dict[str, Any]) -> None:
        """Does the error vanish if the inputs are rounded first, as units for matrices do?"""
        if any(dtype not in ("float32", "float64") for dtype in self.types.values()):
            return
        term = self.arguments.get("bias" if "conv" in self.op.type else "self" if "add" in self.op.type else "")
        added = term.get("tensor") if isinstance(term, dict) else None  # with all its bits
        for name, bits in (("TF32", 10), ("bfloat16", 7)):
            y = self.run_with({j: t if j == added else _shorten(t, bits) for j, t in self.inputs.items()})[i]
            if y is not None and rounding.norm(widen(x) - y) < 0.1 * rounding.norm(widen(x) - explained.y):
                answer["inputs"] = name
                return
        if self._has_short_sums(i, widen(x), explained.y, added):
            answer["inputs"] = "bfloat16 sums"

    def _has_short_sums(self, i: int, x: torch.Tensor, y: torch.Tensor, added: Optional[int]) -> bool:
        """Is x a sum with the bits of bfloat16, but for a term that is added to it?"""
        sizes = self._sizes(i)
        if sizes is None or not bool(((x - y).abs() <= sizes / 64).all()):
            return False
        terms = [torch.zeros((), dtype=x.dtype)]
        if added is not None and all(self.arguments.get(name, 1) == 1 for name in ("alpha", "beta")):
            term = self.inputs[added]
            terms.append(term.reshape(-1, *[1] * (x.dim() - 2)) if "conv" in self.op.type else term)
        for term in terms:
            product = x - term
            if bool(((product - _shorten(product, 7)).abs() <= 1e-6 * (x.abs() + term.abs())).all()):
                return True
        return False


def _shorten(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Rounded to so many bits after the first."""
    if not x.is_floating_point():
        return x
    fraction, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(fraction * 2.0**(bits + 1)) / 2.0**(bits + 1), exponent)


def with_constants(side: Side, other: Side) -> Tensors:
    """Inputs of a side, but numbers of the program from the other one."""
    inputs = dict(side.inputs)
    for value in other.arguments.values():
        if isinstance(value, dict) and "constant" in value and value["tensor"] in other.inputs:
            inputs[value["tensor"]] = other.inputs[value["tensor"]]
    return inputs


def can_exchange(golden: Tensors, actual: Tensors) -> bool:
    """Whether an operator can be asked to take what is of both sides. Kernels check most of what they are given, but hardly one that a
    tensor has elements at all: some read beyond it, as those of a batch norm that got no statistics."""
    return all((x.numel() == 0) == (actual[i].numel() == 0) for i, x in golden.items() if i in actual)


def argue(golden: Side, actual: Side) -> Optional[dict[str, Any]]:
    """What golden's arguments change on actual's inputs; none if they cannot be run with them."""
    if not can_exchange(golden.inputs, actual.inputs):
        return None
    try:
        outputs = actual.run_with(with_constants(actual, golden), golden.arguments)
        made = {i: y for i in actual.expected if (y := outputs[i]) is not None and y.shape == getattr(actual.reference[i], "shape", None)}
        return {str(i): actual.judge_output(i, y) for i, y in made.items()} if len(made) == len(actual.expected) else None
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None


def share(golden: Side, actual: Side) -> dict[str, float]:
    """By input: how much of the difference between the two exact results it brings."""
    def first(inputs: Tensors) -> torch.Tensor:
        outputs = golden.run_with(inputs)
        made = [y for i in sorted(golden.expected) if (y := outputs[i]) is not None]
        return torch.cat([y.flatten().to(torch.complex128) for y in made if y.is_floating_point() or y.is_complex()])

    if {i: x.shape for i, x in golden.inputs.items()} != {i: x.shape for i, x in actual.inputs.items()}:
        return {}
    differing = [i for i, x in golden.inputs.items() if not torch.equal(x, actual.inputs[i])]
    before, after = first(golden.inputs), first(actual.inputs)
    total = after - before
    size = float(torch.linalg.vector_norm(total)) ** 2
    if not size > 0 or not math.isfinite(size):
        return {}
    shares = {}
    for i in differing:
        change = (first({**golden.inputs, i: actual.inputs[i]}) - before + after - first({**actual.inputs, i: golden.inputs[i]})) / 2
        shares[str(i)] = float((change * total.conj()).sum().real) / size
    return shares
