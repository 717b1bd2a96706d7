"""How an operator is recorded, derived from its schema: what adapters/torch/operator_kind.h is for the compiled recorder."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

_OVERWRITES = {"copy_", "fill_", "zero_", "normal_", "uniform_", "log_normal_", "exponential_", "cauchy_", "geometric_", "random_", "copy",
               "bernoulli_", "fill", "zero", "_foreach_copy_", "_foreach_zero_"}
_PARTLY = {"_ctc_loss": 1, "mkldnn_rnn_layer": 3}
_OF_OTHER_NUMBERS = ("_conj", "_neg_view")


class KindArgument(NamedTuple):
    name: str
    kind: str  # of its value, or of the values in a list: "TensorType"
    default: Any
    written: bool
    out: bool  # only written to: its value before the call means nothing
    overwritten: bool  # as out, and its shape is that of the result
    is_extra_output: bool  # written to, and not what the operator returns
    written_if: int = -1  # written to only if this argument, a boolean, is true; -1: always


class Kind(NamedTuple):
    type: str  # "convolution"; "mylib_scale" outside aten
    function: str  # with its overload: "aten::add.Tensor"
    skipped: bool  # not an operator on data
    view: bool  # moves no data
    composite: bool  # calls other operators; most devices have no kernel for it
    uninitialised: bool  # its outputs are unwritten memory
    partly: int  # the output of which it writes a part only
    writes: bool
    collective: bool
    random: bool
    arguments: tuple[KindArgument, ...]
    return_count: int

    def writes_to(self, argument: int, values: list[Any]) -> bool:
        """Whether the call with these arguments may write to one of them."""
        known = self.arguments[argument]
        return known.written and (known.written_if < 0 or values[known.written_if] is not False)

    def leaves_uninitialised(self, output: int) -> bool:
        return self.uninitialised or output == self.partly


def _writes_undeclared(name: str, argument: str) -> bool:
    """Schemas leave these writes undeclared: running statistics and the noise of rrelu."""
    if argument in ("running_mean", "running_var"):
        return "norm" in name and not name.endswith("_functional")
    return argument == "noise" and _makes_noise(name)


def _makes_noise(name: str) -> bool:
    """The noise of rrelu is made in training only, and never read. Else it is memory that nobody writes to."""
    return name.startswith("rrelu_with_noise") and not name.endswith("_backward")


def _kind_of_values(declared: Any) -> str:
    """Of a value, or of the values in a list."""
    while declared.kind() in ("OptionalType", "ListType"):
        declared = declared.getElementType()
    return str(declared.kind())


def _is_extra_output(schema: Any, argument: Any, is_undeclared: bool) -> bool:
    if argument.is_out or not schema.returns:
        return False
    if is_undeclared:
        return True
    alias = argument.alias_info
    if alias is None or not alias.is_write:
        return False
    return all(result.alias_info is None or result.alias_info.before_set != alias.before_set for result in schema.returns)


def _has_kernel(op: Any, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key))


def _describe(op: Any) -> Kind:
    schema = op._schema
    full: str = schema.name
    space, _, name = full.rpartition("::")
    kind = name
    trusted, is_collective = space in ("aten", "prims"), space == "c10d"
    arguments = []
    # Operators from elsewhere that declare a part of what they write to declare all.
    is_silent = not (trusted or is_collective) and not any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
    for i, argument in enumerate(schema.arguments):
        alias, undeclared = argument.alias_info, _writes_undeclared(name, argument.name)
        out = bool(argument.is_out)
        written = out or (alias is not None and alias.is_write) or is_silent or undeclared
        arguments.append(KindArgument(argument.name, _kind_of_values(argument.real_type), argument.default_value, written, out,
                                      trusted and i == 0 and name in _OVERWRITES,
                                      trusted and _is_extra_output(schema, argument, undeclared)))
    view = bool(schema.returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    if name in _OF_OTHER_NUMBERS:
        view = False
    if name == "set_":  # the tensor gets other memory, and none is written to
        view, arguments = True, [argument._replace(written=False) for argument in arguments]
    if trusted and _makes_noise(name):
        training = next((i for i, argument in enumerate(arguments) if argument.name == "training"), -1)
        arguments = [argument._replace(overwritten=True, written_if=training) if argument.name == "noise" else argument for argument in arguments]
    if not trusted and space:
        kind = f"{space}_{name}"
    return Kind(
        type=kind.replace("/", "_"),
        function=full + (f".{schema.overload_name}" if schema.overload_name else ""),
        skipped=space in ("profiler", "prim", "opdump_torch") or full == "aten::detach_",
        view=view,
        composite=_has_kernel(op, "CompositeImplicitAutograd") and not _has_kernel(op, "CPU") and not _has_kernel(op, "CUDA"),
        uninitialised=name.startswith(("empty", "new_empty", "_empty", "resize")),
        partly=_PARTLY.get(name, 1 if full == "fsdp::all_gather_copy_in" else -1),
        writes=any(argument.written for argument in arguments),
        collective=space in ("c10d", "_c10d_functional"),
        random=torch.Tag.nondeterministic_seeded in op.tags or any(argument.name == "generator" for argument in schema.arguments),
        arguments=tuple(arguments),
        return_count=len(schema.returns))


_known: dict[Any, Kind] = {}


def kind_of(op: Any) -> Kind:
    kind = _known.get(op)
    if kind is None:
        kind = _known[op] = _describe(op)
    return kind


def values_of(kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The values of all arguments in the order of the schema: the dispatcher leaves out those that are defaults."""
    return [*args, *(kwargs.get(argument.name, argument.default) for argument in kind.arguments[len(args):])]
