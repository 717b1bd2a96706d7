"""Answers requests of `opdump blame`: recorded operators of torch and of ONNX run again in float64.

The argument of the program says how many others work beside it; its first answer has "others", how many do, and "torch", the
version. Each reads one JSON request per line and answers it with one line. A request has an operator with its recorded inputs
and outputs, of one side or of both:

    {"function": "aten::mul.Tensor", "sides": {
       "golden": {"arguments": {"self": {"tensor": 0}, "other": {"tensor": 1}},
                  "inputs": {"0": TENSOR, "1": TENSOR}, "outputs": {"0": TENSOR}}, "actual": {...}}}
    TENSOR: {"file": "x.npy", "dtype": "bfloat16", "shape": [2, 3], "offset": 0, "stored": "float32"}
            without a file: a tensor whose bytes were never written; without an offset: a .npy file

The answer has for each output the error against the float64 result in units of what rounding explains (docs/blame.md):

    {"ok": true, "sides": {"golden": {"0": {"r": 0.4, "rho": 0.9, "alpha": 0.01, ...}}, "actual": ...}}
    {"ok": false, "random": false, "reason": "aten::rand is random"}

More of a request: "repeats": if each side makes again what was recorded, to the last bit, in its own types, "sides" is empty, and
"sum" tells whether it adds up products; else "odd" of an output counts elements that are off while all others, and the other
side, are the same; "argues": what golden's arguments change on actual's inputs, as "argument" in the answer; "shares": how much
of the difference each input brings, as "shares"; "calibrates": the errors are those of a run without a fault, which a last
{"write_limits": FILE, "gains": SAMPLES} keeps, with samples of gains (src/compare/rules/gains/gains.h), which a request of only "gains"
asks for; "limits": a file of such limits, which hold from then on.

"without" asks what the outputs of actual would be without faults: {} those of earlier requests, {"own": true} that of the
operator, too, {"argument": true} with golden's arguments, {"inputs": [0]} with golden's inputs. The answer has "ends": for each
output its distance from golden's as it was recorded, and as it would be; and "made": how many elements the output has, their mean,
norm, least and greatest. {"put": TENSOR, "for": TENSOR} is a request of its own: the second one, of actual, would be the first one, with
its axes in the order that makes the two most alike. {"forget": true} begins anew.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from typing import Any, Optional

import torch

from . import native, pieces, removal, rounding, worker
from . import onnx_operators as onnx
from .rounding import Tensors, widen
from .sides import AnyOperator, Side, argue, can_exchange, make_operator, share, with_constants
from .tensors import CannotReplay, load
from .torch_operators import Operator

_PIECE = 1 << 22  # elements that run again at once, if the operator can be split: in float64 these are 32 MiB
_MAX_ELEMENTS = 1 << 28  # else


class Server:
    """What this process knows from earlier requests."""

    def __init__(self) -> None:
        self._limits = rounding.Limits()
        self._calibration = rounding.Calibration()
        self._changed = removal.Changed()
        # Operators of which this torch made a recorded output, to the last bit, that is right: where it does so again, the other run's
        # is looked at, and its own only if that is wrong.
        self._proven: set[tuple[str, ...]] = set()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._reply(request)
        except CannotReplay as reason:
            return {"ok": False, "random": reason.is_random, "reason": str(reason)}
        except onnx.NoReference as reason:
            return {"ok": False, "random": False, "reason": str(reason)}
        except Exception as error:  # of whatever operator
            if worker.import_rest():
                return self.answer(request)
            text = (str(error).splitlines() or [""])[0]
            return {"ok": False, "random": False, "reason": f"torch {torch.__version__} fails: {type(error).__name__}: {text}"}

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if "script" in request:
            return _write_script(request)
        if "write_limits" in request:
            return self._write_limits(request["write_limits"], request.get("gains", {}))
        if "gains" in request:
            return {"ok": True, "gains": self._limits.gains}
        if "limits" in request:
            return self._set_limits(request["limits"])
        if "put" in request:
            return self._put(request["put"], request["for"])
        return self._forget() if "forget" in request else self._judge(request)

    def _judge(self, request: dict[str, Any]) -> dict[str, Any]:
        op, recorded = make_operator(request["function"]), request["sides"]
        made = {}
        if request.get("repeats") and isinstance(op, Operator) and pieces.elements(recorded) <= _MAX_ELEMENTS:
            made = _run_native(op, recorded)
            if all(of is not None and of.is_same for of in made.values()):
                return {"ok": True, "sides": {}, "sum": rounding.is_sum(op.type, recorded["actual"]["arguments"])}
        same = [name for name, of in made.items() if of is not None and of.is_same]
        kind = (request["function"], *(place["dtype"] for name in same for place in recorded[name]["outputs"].values()))
        reply = None
        if same and kind in self._proven:
            others = {name: side for name, side in recorded.items() if name not in same}
            reply = self._answer_exactly(op, others, request)
            if not pieces.are_rounding(_outputs(reply, others)):
                reply = None
        if reply is None:
            reply = self._answer_exactly(op, recorded, request)
            if same and pieces.are_rounding(_outputs(reply, same)):
                self._proven.add(kind)
        for name, of in made.items():
            if of is not None and all(other is not None and other.is_same for key, other in made.items() if key != name):
                for i, count in of.odd.items():
                    reply["sides"][name][str(i)]["odd"] = count
        return reply

    def _answer_exactly(self, op: AnyOperator, recorded: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        """In float64; in pieces, if it is large."""
        elements, parts = pieces.elements(recorded), None
        if elements > _PIECE and isinstance(op, Operator) and not any(request.get(key) for key in ("without", "shares", "calibrates")):
            parts = pieces.split(op.type, recorded, _PIECE)
        if parts is not None:
            return pieces.merge((start, self._answer_at_once(op, part, request)) for start, part in parts)
        if elements > _MAX_ELEMENTS:
            raise CannotReplay(f"its tensors have {elements} elements; the limit is {_MAX_ELEMENTS} for what cannot be split")
        return self._answer_at_once(op, recorded, request)

    def _answer_at_once(self, op: AnyOperator, recorded: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = {"ok": True}
        if "without" in request:
            return {**reply, **self._remove(op, recorded, request["without"])}
        sides = {name: Side(op, side, self._limits, not request.get("calibrates")) for name, side in recorded.items()}
        if request.get("shares"):
            return {**reply, "shares": share(sides["golden"], sides["actual"])}
        reply["sides"] = {name: side.judge() for name, side in sides.items()}
        if request.get("argues") and len(sides) == 2:
            reply["argument"] = argue(sides["golden"], sides["actual"])
        if request.get("calibrates"):
            for name, side in sides.items():
                self._calibration.add(op.type, reply["sides"][name], side.types)
        return reply

    def _remove(self, op: AnyOperator, recorded: dict[str, Any], without: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
        """By output of actual: its distance from golden's, with and without faults; and what it would be."""
        golden, place = recorded.get("golden", {"outputs": {}}), recorded["actual"]
        stored = {int(i): load(at) for i, at in place["inputs"].items()}
        inputs = {i: new for i, new in ((i, self._changed.find(x)) for i, x in stored.items()) if new is not None}
        for i in without.get("inputs", []):
            inputs[i] = widen(load(golden["inputs"][str(i)]))
            self._changed.add(stored[i], inputs[i])
        outputs = {int(i): load(at) for i, at in place["outputs"].items()}
        after: Tensors = dict(outputs)
        if inputs or without:
            side = Side(op, place, self._limits)
            given, arguments = {**side.inputs, **inputs}, None
            exchanged = {i: x for i, x in inputs.items() if i in without.get("inputs", [])}
            if without.get("argument"):
                other = Side(op, golden, self._limits)
                given.update((i, x) for i, x in with_constants(side, other).items() if x is not side.inputs[i])
                arguments, exchanged = other.arguments, other.inputs
            if not can_exchange(exchanged, side.inputs):
                raise CannotReplay("one run has elements where the other has none")
            now = side.run_with(given, arguments)
            for i, x in outputs.items():
                after[i] = now[i] if without.get("own") else removal.moved(x, side.reference[i], now[i])
                self._changed.add(x, after[i])
        ends = {}
        for i, x in outputs.items():
            right = load(golden["outputs"][str(i)]) if str(i) in golden["outputs"] else None
            if right is not None and right.is_floating_point() and right.shape == x.shape:
                ends[str(i)] = [rounding.norm(widen(y) - widen(right)) for y in (x, after[i])]
        return {"ends": ends, "made": {str(i): removal.describe(y) for i, y in after.items() if y.is_floating_point() and y.numel() > 0}}

    def _put(self, instead: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
        recorded = load(place)
        self._changed.add(recorded, removal.arrange(widen(load(instead)), recorded))
        return {"ok": True, "sides": {}}

    def _set_limits(self, path: str) -> dict[str, Any]:
        try:
            self._limits = rounding.Limits(path)
        except ValueError as error:
            return {"ok": False, "reason": str(error)}
        return {"ok": True}

    def _forget(self) -> dict[str, Any]:
        self._changed = removal.Changed()
        return {"ok": True}

    def _write_limits(self, path: str, gains: rounding.Gains) -> dict[str, Any]:
        try:
            self._calibration.write(path, gains)
        except (OSError, ValueError) as error:
            return {"ok": False, "reason": str(error)}
        return {"ok": True}


def _run_native(op: Operator, recorded: dict[str, Any]) -> dict[str, Optional[native.Native]]:
    made = {}
    for name, side in recorded.items():
        op.check_random(side["arguments"])
        inputs, outputs = (
            {int(i): load(place).to(getattr(torch, place["dtype"]), copy=kind == "inputs") for i, place in side[kind].items()}
            for kind in ("inputs", "outputs"))  # the operator may write to its inputs
        made[name] = native.run(op, side["arguments"], inputs, outputs)
    return made


def _outputs(reply: dict[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Of these sides."""
    return [of for name in names for of in reply["sides"][name].values()]


def _write_script(request: dict[str, Any]) -> dict[str, Any]:
    from . import reproduce

    op, side = make_operator(request["function"]), request["side"]
    tensors = {kind: {int(i): load(place).to(getattr(torch, place["dtype"])) for i, place in side[kind].items()}
               for kind in ("inputs", "outputs")}
    if isinstance(op, onnx.OnnxOperator):
        if op.domain == onnx.BLOCKED:
            raise CannotReplay("its kernel wants tensors in blocks, which the dump does not have; reproduce it from a dump of the model as written")
        exact = op.run(side["arguments"], {i: widen(x) for i, x in tensors["inputs"].items()}, None)
        reproduce.write_onnx_script(op, request, tensors["inputs"], tensors["outputs"], exact)
    else:
        reproduce.write_script(op, request, tensors["inputs"], tensors["outputs"])
    return {"ok": True}


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def serve() -> None:
    """Answers until there are no more requests."""
    worker.keep_memory()
    server = Server()
    others = worker.fork_others()
    replies = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no reply
    for number, line in enumerate(sys.stdin):
        reply = server.answer(json.loads(line))
        if number == 0:
            reply.update(others=others, torch=str(torch.__version__))
        try:
            replies.write(json.dumps(_finite(reply)) + "\n")
            replies.flush()
        except BrokenPipeError:  # opdump has ended
            return
