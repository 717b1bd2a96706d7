"""Operators that are too large to run again at once, in pieces, for `opdump blame`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Optional

# Arguments that have a row for each row of the outputs, which depends on no other one. None: all of as many axes.
_ROWS: dict[str, Optional[tuple[str, ...]]] = {
    "mm": ("self",), "addmm": ("self", "mat1"), "bmm": ("self", "mat2"), "baddbmm": None, "linear": ("input",), "mkldnn_linear": ("self",),
    "convolution": ("input",), "_convolution": ("input",), "mkldnn_convolution": ("self",), "thnn_conv2d": ("self",),
    "native_layer_norm": ("input",), "embedding": ("indices",), "_softmax": ("self",), "_log_softmax": ("self",),
    "_softmax_backward_data": ("grad_output", "output"), "_log_softmax_backward_data": ("grad_output", "output"),
    "_scaled_dot_product_flash_attention_for_cpu": ("query", "key", "value", "attn_mask"),
    "max_pool2d_with_indices": ("self",), "avg_pool2d": ("self",),
    **dict.fromkeys(
        "add add_ sub sub_ rsub mul mul_ div div_ exp log sqrt rsqrt reciprocal pow neg abs sin cos erf tanh sigmoid relu relu_ gelu silu "
        "hardtanh hardtanh_ leaky_relu leaky_relu_ softplus clamp clamp_ where lerp lerp_ addcmul addcmul_ addcdiv addcdiv_ "
        "masked_fill masked_fill_ clone copy_ _to_copy threshold_backward gelu_backward silu_backward tanh_backward sigmoid_backward "
        "native_dropout_backward eq ne lt le gt ge".split()),
}


def _elements(places: dict[str, Any]) -> int:
    return sum(math.prod(place.get("shape") or [1]) for place in places.values())


def elements(recorded: dict[str, Any]) -> int:
    """Of all tensors of an operator."""
    return sum(_elements(side[kind]) for side in recorded.values() for kind in ("inputs", "outputs"))


def _split_inputs(type: str, side: dict[str, Any], rows: int, axes: int) -> set[str]:
    """Those that have a row for each row of the outputs."""
    names = _ROWS[type]
    of = [value for name, value in side["arguments"].items() if names is None or name in names]
    shapes = {str(value["tensor"]): side["inputs"].get(str(value["tensor"]), {}).get("shape") or [] for value in of
              if isinstance(value, dict) and "tensor" in value}
    may_have_less = names is not None and type != "addmm"  # of which one axis may be that of the columns
    return {i for i, shape in shapes.items() if shape[:1] == [rows] and (may_have_less or len(shape) == axes)}


def split(type: str, recorded: dict[str, Any], most: int) -> Optional[Iterator[tuple[int, dict[str, Any]]]]:
    """Pieces of at most so many elements, with the number of their first row; none if it cannot be split."""
    first = {name: next(iter(side["outputs"].values())).get("shape") or [] for name, side in recorded.items()}
    shapes = list(first.values())
    if type not in _ROWS or not shapes[0] or any(shape[:1] != shapes[0][:1] for shape in shapes):
        return None
    rows, moving = shapes[0][0], {}
    for name, side in recorded.items():
        arguments = side["arguments"]
        if arguments.get("dim") in (0, -len(first[name])) or len(arguments.get("normalized_shape") or ()) >= len(first[name]):
            return None
        if any((place.get("shape") or [])[:1] != [rows] for place in side["outputs"].values()):
            return None
        moving[name] = _split_inputs(type, side, rows, len(first[name]))
        if not moving[name]:
            return None
    fixed = sum(_elements({i: place for i, place in side["inputs"].items() if i not in moving[name]}) for name, side in recorded.items())
    per_row = (elements(recorded) - fixed) // max(1, rows)
    step = (most - fixed) // max(1, per_row)
    if step < 1:
        return None
    return ((start, {name: _rows(side, moving[name], start, min(rows, start + step)) for name, side in recorded.items()})
            for start in range(0, rows, step))


def _rows(side: dict[str, Any], moving: set[str], start: int, stop: int) -> dict[str, Any]:
    def cut(place: dict[str, Any]) -> dict[str, Any]:
        return {**place, "rows": [start, stop]}

    return {**side, "inputs": {i: cut(place) if i in moving else place for i, place in side["inputs"].items()},
            "outputs": {i: cut(place) for i, place in side["outputs"].items()}}


def factor(of: dict[str, Any]) -> float:
    """Up to 1: each test is within its limit."""
    return max(of[key] / limit for key, limit in zip(("r", "rho", "alpha"), of["limits"]))


def are_rounding(outputs: Iterable[dict[str, Any]]) -> bool:
    return all(not of["wrong"] if "wrong" in of else factor(of) <= 1 for of in outputs)


def _merge_output(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Of the worse piece, with the wrong elements of both."""
    if ("wrong" in a) != ("wrong" in b):
        exact, rounded = (a, b) if "wrong" in a else (b, a)
        worse = exact if exact["wrong"] else rounded
    elif "wrong" in a:
        worse = {**(a if a["wrong"] else b), "wrong": a["wrong"] + b["wrong"]}
    else:
        worse = a if factor(a) > factor(b) else b
    return {**worse, "count": a["count"] + b["count"]}


def merge(answers: Iterable[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """The answers about all pieces, each with the number of its first row, as one."""
    merged: dict[str, Any] = {"ok": True, "sides": {}}
    for start, answer in answers:
        for name, side in answer["sides"].items():
            before = merged["sides"].setdefault(name, {})
            for i, of in side.items():
                if of.get("worst"):
                    of["worst"][0] += start
                before[i] = _merge_output(before[i], of) if i in before else of
        if "argument" in answer:
            a, b = merged.get("argument", {}), answer["argument"]
            merged["argument"] = None if a is None or b is None else {
                i: _merge_output(a[i], of) if i in a else of for i, of in b.items()}
    return merged
