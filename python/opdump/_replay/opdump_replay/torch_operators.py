"""Operators of torch in float64."""

from __future__ import annotations

import importlib
from typing import Any, Optional

import torch

from . import wide
from .onnx_operators import NO_INPUTS
from .rounding import LARGEST, Tensors
from .tensors import CannotReplay, IsRandom

# What a dump names is run only if it computes: a dump may come from anywhere.
_SPACES = frozenset(("aten", "prims", "mkldnn", "quantized"))


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
            call = wide.REFERENCES.get(self.type) if is_exact else None
            result = (call or self._call)(*positional, **named)
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
                raise CannotReplay(NO_INPUTS)
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
