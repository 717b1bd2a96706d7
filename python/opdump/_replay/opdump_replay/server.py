"""Answers requests of `opdump blame`: recorded operators of torch and of ONNX run again in float64.

The argument of the program says how many others work beside it; its first answer has "others", how many do. Each reads one JSON request per line and
answers it with one line. A request has an operator with its recorded inputs and
outputs, of one side or of both:

    {"function": "aten::mul.Tensor", "sides": {
       "golden": {"arguments": {"self": {"tensor": 0}, "other": {"tensor": 1}},
                  "inputs": {"0": TENSOR, "1": TENSOR}, "outputs": {"0": TENSOR}}, "actual": {...}}}
    TENSOR: {"file": "x.npy", "dtype": "bfloat16", "shape": [2, 3], "offset": 0, "stored": "float32"}
            without a file: a tensor whose bytes were never written; without an offset: a .npy file

The answer has for each output the error against the float64 result in units of what rounding explains (docs/blame.md):

    {"ok": true, "sides": {"golden": {"0": {"r": 0.4, "rho": 0.9, "alpha": 0.01, ...}}, "actual": ...}}
    {"ok": false, "random": false, "reason": "aten::rand is random"}

More of a request: "repeats": if each side makes again what was recorded, to the last bit, in its own types, "sides" is empty, and
"sum" tells whether it adds up products; else "odd" of an output counts elements that are off while all others, and the other side, are the same; "argues": what golden's arguments change on actual's inputs, as "argument" in the answer; "shares": how much of
the difference each input brings, as "shares"; "calibrates": the errors are those of a run without a fault, which a last
{"write_limits": FILE, "gains": SAMPLES} keeps, with samples of gains (src/compare/gains/gains.h), which a request of only "gains"
asks for; "limits": a file of such limits, which hold from then on.

"without" asks what the outputs of actual would be without faults: {} those of earlier requests, {"own": true} that of the
operator, too, {"argument": true} with golden's arguments, {"inputs": [0]} with golden's inputs. The answer has "ends": for each
output its distance from golden's as it was recorded, and as it would be. {"forget": true} begins anew.
"""

from __future__ import annotations

import ast
import importlib
import json
import math
import mmap
import sys
from typing import Any, Iterable, Optional, Sequence, Union

import torch

from . import native, onnx_operators as onnx, pieces, removal, rounding, wide, worker
from .rounding import LARGEST, ROUNDOFF, Tensors, widen

_PIECE = 1 << 22  # elements that run again at once, if the operator can be split: in float64 these are 32 MiB
_MAX_ELEMENTS = 1 << 28  # else
_DRAWS = 4  # of perturbations

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
        if space == "prims":
            importlib.import_module("torch._prims")  # defines them
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
        self.writes = any(a.alias_info is not None and a.alias_info.is_write or self.is_extra_output(a) for a in self.schema.arguments)
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

    def run(self, given: dict[str, Any], inputs: Tensors, constants: Optional[torch.dtype],
            is_exact: bool = True) -> list[Optional[torch.Tensor]]:
        """The outputs by index, as the recorder counts them. `constants`: in which type kernels had numbers of the program.
        `is_exact`: in float64 where an argument names a type."""
        positional, named, written = [], {}, []
        for a in self.schema.arguments:
            if a.name not in given:
                continue
            value = self._convert(given[a.name], a, inputs, constants, is_exact)
            if value is None and getattr(a, "is_out", False):
                value = torch.empty(0, dtype=torch.float64)
            if a.kwarg_only:
                named[a.name] = value
            else:
                positional.append(value)
            if self.is_extra_output(a):
                written.append(value)
        with torch.no_grad():
            call = wide.REFERENCES.get(self.type, self._call) if is_exact else self._call
            result = call(*positional, **named)
        outputs: list[Optional[torch.Tensor]] = []
        for value in (list(result) if isinstance(result, tuple) else [result]) if self.schema.returns else []:
            _flatten(value, outputs)
        for value in written:
            _flatten(value, outputs)
        return outputs

    def is_extra_output(self, argument: Any) -> bool:
        if argument.name in ("running_mean", "running_var"):
            return "norm" in self.type and not self.type.endswith("_functional")
        alias = argument.alias_info
        if alias is None or not alias.is_write:
            return False
        return not any(r.alias_info is not None and r.alias_info.before_set == alias.before_set for r in self.schema.returns)

    def _convert(self, value: Any, argument: Any, inputs: Tensors, constants: Optional[torch.dtype], is_exact: bool) -> Any:
        if isinstance(value, dict):
            if "float" in value:
                return float(value["float"])
            if value["tensor"] not in inputs:
                if getattr(argument, "is_out", False) or argument.name == "out":
                    return torch.empty(0, dtype=torch.float64)
                raise CannotReplay(onnx.NO_INPUTS)
            tensor = inputs[value["tensor"]]
            is_rounded = constants is not None and "constant" in value and tensor.is_floating_point()
            return tensor.to(constants).to(tensor.dtype) if is_rounded else tensor
        if isinstance(value, list):
            return [self._convert(item, argument, inputs, constants, is_exact) for item in value]
        if isinstance(value, str):
            return _convert_text(value, argument, is_exact)
        if isinstance(value, float) and constants is not None and abs(value) <= LARGEST[str(constants)[6:]]:
            return torch.tensor(value, dtype=constants).item()
        return value


def _convert_text(text: str, argument: Any, is_exact: bool) -> Any:
    if text.startswith("torch."):
        found = getattr(torch, text[6:])
        if is_exact and isinstance(found, torch.dtype) and (found.is_floating_point or found.is_complex):
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


# ---- What its outputs are.


def _make_operator(function: str) -> Union[Operator, onnx.OnnxOperator]:
    return onnx.OnnxOperator(function) if onnx.is_onnx(function) else Operator(function)


class Side:
    """An operator on the inputs of one of the two runs."""

    def __init__(self, op: Union[Operator, onnx.OnnxOperator], recorded: dict[str, Any], is_brief: bool = True) -> None:
        """`is_brief`: of what is surely rounding, how much of it conditioning explains is not measured."""
        self.op, self.arguments, self.is_brief = op, recorded["arguments"], is_brief
        if isinstance(op, Operator):
            op.check_random(self.arguments)
        elif op.is_random(self.arguments, len(recorded["inputs"])):
            raise IsRandom(f"{op.name} is random")
        self.expected = {int(i): place for i, place in recorded["outputs"].items()}
        self.types = {i: place["dtype"] for i, place in self.expected.items()}
        self.inputs = {int(i): widen(_load(place)) for i, place in recorded["inputs"].items()}
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
        recorded = {i: _load(place) for i, place in self.expected.items() if i < len(self.reference)}
        answer = self._judge(recorded)
        small = next((dtype for dtype in self.types.values() if dtype in ("float16", "bfloat16")), None)
        usual = self.constants
        if self._has_constants() and (small is not None or (usual is not None and not _are_rounding(answer.values()))):
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
        if self.is_brief and is_rounded:
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
            answer.update(limits.find(self.op.type, self.types[i]), sum=is_sum)
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
        for name, bits in (("TF32", 10), ("bfloat16", 7)):
            y = self.run_with({j: _shorten(t, bits) for j, t in self.inputs.items()})[i]
            if y is not None and rounding.norm(widen(x) - y) < 0.1 * rounding.norm(widen(x) - explained.y):
                answer["inputs"] = name
                return


def _shorten(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Rounded to so many bits after the first."""
    if not x.is_floating_point():
        return x
    fraction, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(fraction * 2.0**(bits + 1)) / 2.0**(bits + 1), exponent)


def _with_constants(side: Side, other: Side) -> Tensors:
    """Inputs of a side, but numbers of the program from the other one."""
    inputs = dict(side.inputs)
    for value in other.arguments.values():
        if isinstance(value, dict) and "constant" in value and value["tensor"] in other.inputs:
            inputs[value["tensor"]] = other.inputs[value["tensor"]]
    return inputs


def _argue(golden: Side, actual: Side) -> Optional[dict[str, Any]]:
    """What golden's arguments change on actual's inputs; none if they cannot be run with them."""
    try:
        outputs = actual.run_with(_with_constants(actual, golden), golden.arguments)
        if any(outputs[i] is None or outputs[i].shape != actual.reference[i].shape for i in actual.expected):
            return None
        return {str(i): actual.judge_output(i, outputs[i]) for i in actual.expected}
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None


def _share(golden: Side, actual: Side) -> dict[str, float]:
    """By input: how much of the difference between the two exact results it brings."""
    def first(inputs: Tensors) -> torch.Tensor:
        outputs = golden.run_with(inputs)
        return torch.cat([outputs[i].flatten().to(torch.complex128) for i in sorted(golden.expected)
                          if outputs[i] is not None and (outputs[i].is_floating_point() or outputs[i].is_complex())])

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


def _remove(op: Union[Operator, onnx.OnnxOperator], recorded: dict[str, Any], without: dict[str, Any]) -> dict[str, list[float]]:
    """By output of actual: its distance from golden's, with and without faults."""
    golden, place = recorded["golden"], recorded["actual"]
    stored = {int(i): _load(at) for i, at in place["inputs"].items()}
    inputs = {i: new for i, new in ((i, changed.find(x)) for i, x in stored.items()) if new is not None}
    for i in without.get("inputs", []):
        inputs[i] = widen(_load(golden["inputs"][str(i)]))
        changed.add(stored[i], inputs[i])
    outputs = {int(i): _load(at) for i, at in place["outputs"].items()}
    after: Tensors = dict(outputs)
    if inputs or without:
        side = Side(op, place)
        given, arguments = {**side.inputs, **inputs}, None
        if without.get("argument"):
            other = Side(op, golden)
            given.update((i, x) for i, x in _with_constants(side, other).items() if x is not side.inputs[i])
            arguments = other.arguments
        now = side.run_with(given, arguments)
        for i, x in outputs.items():
            after[i] = now[i] if without.get("own") else removal.moved(x, side.reference[i], now[i])
            changed.add(x, after[i])
    ends = {}
    for i, x in outputs.items():
        right = _load(golden["outputs"][str(i)]) if str(i) in golden["outputs"] else None
        if right is not None and right.is_floating_point() and right.shape == x.shape:
            ends[str(i)] = [rounding.norm(widen(y) - widen(right)) for y in (x, after[i])]
    return ends


def _run_native(op: Operator, recorded: dict[str, Any]) -> dict[str, Optional[native.Native]]:
    made = {}
    for name, side in recorded.items():
        op.check_random(side["arguments"])
        inputs, outputs = (
            {int(i): _load(place).to(getattr(torch, place["dtype"]), copy=kind == "inputs") for i, place in side[kind].items()}
            for kind in ("inputs", "outputs"))  # the operator may write to its inputs
        made[name] = native.run(op, side["arguments"], inputs, outputs)
    return made


limits = rounding.Limits()
calibration = rounding.Calibration()
changed = removal.Changed()
# Operators of which this torch made a recorded output, to the last bit, that is right: where it does so again, the other run's is
# looked at, and its own only if that is wrong.
proven: set[tuple[str, ...]] = set()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    op, recorded = _make_operator(request["function"]), request["sides"]
    made = {}
    if request.get("repeats") and isinstance(op, Operator) and pieces.elements(recorded) <= _MAX_ELEMENTS:
        made = _run_native(op, recorded)
        if all(of is not None and of.is_same for of in made.values()):
            return {"ok": True, "sides": {}, "sum": rounding.is_sum(op.type, recorded["actual"]["arguments"])}
    same = [name for name, of in made.items() if of is not None and of.is_same]
    kind = (request["function"], *(place["dtype"] for name in same for place in recorded[name]["outputs"].values()))
    reply = None
    if same and kind in proven:
        others = {name: side for name, side in recorded.items() if name not in same}
        reply = _answer_exactly(op, others, request)
        if not _are_rounding(_outputs(reply, others)):
            reply = None
    if reply is None:
        reply = _answer_exactly(op, recorded, request)
        if same and _are_rounding(_outputs(reply, same)):
            proven.add(kind)
    for name, of in made.items():
        if of is not None and all(other is not None and other.is_same for key, other in made.items() if key != name):
            for i, count in of.odd.items():
                reply["sides"][name][str(i)]["odd"] = count
    return reply


def _answer_exactly(op: Union[Operator, onnx.OnnxOperator], recorded: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """In float64; in pieces, if it is large."""
    elements, parts = pieces.elements(recorded), None
    if elements > _PIECE and isinstance(op, Operator) and not any(request.get(key) for key in ("without", "shares", "calibrates")):
        parts = pieces.split(op.type, recorded, _PIECE)
    if parts is not None:
        return pieces.merge((start, _answer_at_once(op, part, request)) for start, part in parts)
    if elements > _MAX_ELEMENTS:
        raise CannotReplay(f"its tensors have {elements} elements; the limit is {_MAX_ELEMENTS} for what cannot be split")
    return _answer_at_once(op, recorded, request)


def _outputs(reply: dict[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Of these sides."""
    return [of for name in names for of in reply["sides"][name].values()]


def _are_rounding(outputs: Iterable[dict[str, Any]]) -> bool:
    return all(not of["wrong"] if "wrong" in of else pieces.factor(of) <= 1 for of in outputs)


def _answer_at_once(op: Union[Operator, onnx.OnnxOperator], recorded: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = {"ok": True}
    if "without" in request:
        return {**reply, "ends": _remove(op, recorded, request["without"])}
    sides = {name: Side(op, side, not request.get("calibrates")) for name, side in recorded.items()}
    if request.get("shares"):
        return {**reply, "shares": _share(sides["golden"], sides["actual"])}
    reply["sides"] = {name: side.judge() for name, side in sides.items()}
    if request.get("argues") and len(sides) == 2:
        reply["argument"] = _argue(sides["golden"], sides["actual"])
    if request.get("calibrates"):
        for name, side in sides.items():
            calibration.add(op.type, reply["sides"][name], side.types)
    return reply


def _set_limits(path: str) -> dict[str, Any]:
    global limits
    try:
        limits = rounding.Limits(path)
    except ValueError as error:
        return {"ok": False, "reason": str(error)}
    return {"ok": True}


def _forget() -> dict[str, Any]:
    global changed
    changed = removal.Changed()
    return {"ok": True}


def _write_limits(path: str, gains: rounding.Gains) -> dict[str, Any]:
    try:
        calibration.write(path, gains)
    except (OSError, ValueError) as error:
        return {"ok": False, "reason": str(error)}
    return {"ok": True}


def _write_script(request: dict[str, Any]) -> dict[str, Any]:
    from . import reproduce

    op, side = _make_operator(request["function"]), request["side"]
    tensors = {kind: {int(i): _load(place).to(getattr(torch, place["dtype"])) for i, place in side[kind].items()}
               for kind in ("inputs", "outputs")}
    if isinstance(op, onnx.OnnxOperator):
        if op.domain == onnx.BLOCKED:
            raise CannotReplay("its kernel wants tensors in blocks, which the dump does not have; reproduce it from a dump of the model as written")
        exact = op.run(side["arguments"], {i: widen(x) for i, x in tensors["inputs"].items()}, None)
        reproduce.write_onnx_script(op, request, tensors["inputs"], tensors["outputs"], exact)
    else:
        reproduce.write_script(op, request, tensors["inputs"], tensors["outputs"])
    return {"ok": True}


def _reply(request: dict[str, Any]) -> dict[str, Any]:
    if "script" in request:
        return _write_script(request)
    if "write_limits" in request:
        return _write_limits(request["write_limits"], request.get("gains", {}))
    if "gains" in request:
        return {"ok": True, "gains": limits.gains}
    if "limits" in request:
        return _set_limits(request["limits"])
    return _forget() if "forget" in request else answer(request)


def _try(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return _reply(request)
    except CannotReplay as reason:
        return {"ok": False, "random": reason.is_random, "reason": str(reason)}
    except onnx.NoReference as reason:
        return {"ok": False, "random": False, "reason": str(reason)}
    except Exception as error:  # noqa: BLE001 - of whatever operator
        if worker.import_rest():
            return _try(request)
        text = (str(error).splitlines() or [""])[0]
        return {"ok": False, "random": False, "reason": f"torch {torch.__version__} fails: {type(error).__name__}: {text}"}


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def serve() -> None:
    worker.keep_memory()
    others = worker.fork_others()
    replies = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no reply
    for number, line in enumerate(sys.stdin):
        reply = _try(json.loads(line))
        if number == 0:
            reply["others"] = others
        try:
            replies.write(json.dumps(_finite(reply)) + "\n")
            replies.flush()
        except BrokenPipeError:  # opdump has ended
            return

