"""Kernels that are wrong at one call: registered below the recording, so that the operators and their order stay."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

aten = torch.ops.aten


def _out(name: str, overload: str = "out", **renamed: str) -> Callable[..., Any]:
    """The kernel that the operator has for a given output: the same one, and not replaced."""
    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        dtype = next((t.dtype for t in tensors if t.is_floating_point()), torch.int64)
        out = torch.empty(0, dtype=dtype)
        return getattr(getattr(aten, name), overload)(*args, **kwargs, **{renamed.get("out", "out"): out})
    return call


def _layer_norm(x: torch.Tensor, shape: list[int], weight: Any, bias: Any, eps: float) -> tuple[torch.Tensor, ...]:
    axes = list(range(x.dim() - len(shape), x.dim()))
    mean = x.mean(axes, keepdim=True)
    scale = torch.rsqrt((x - mean).square().mean(axes, keepdim=True) + eps)
    y = (x - mean) * scale
    return (y if weight is None else y * weight + bias), mean, scale


def _batch_norm(x: torch.Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
                eps: float) -> tuple[torch.Tensor, ...]:
    axes, shape = [0, *range(2, x.dim())], [1, -1, *[1] * (x.dim() - 2)]
    m = x.mean(axes)
    v = (x - m.view(shape)).square().mean(axes)
    count = x.numel() / x.shape[1]
    mean.mul_(1 - momentum).add_(m, alpha=momentum)
    var.mul_(1 - momentum).add_(v, alpha=momentum * count / (count - 1))
    scale = torch.rsqrt(v + eps)
    return (x - m.view(shape)) * (scale * weight).view(shape) + bias.view(shape), m, scale


def _group_norm(x: torch.Tensor, weight: Any, bias: Any, n: int, c: int, hw: int, groups: int, eps: float) -> tuple[torch.Tensor, ...]:
    flat = x.reshape(n, groups, -1)
    mean = flat.mean(-1, keepdim=True)
    scale = torch.rsqrt((flat - mean).square().mean(-1, keepdim=True) + eps)
    y = ((flat - mean) * scale).reshape(n, c, hw) * weight.reshape(1, c, 1) + bias.reshape(1, c, 1)
    return y.reshape(x.shape), mean.reshape(n, groups), scale.reshape(n, groups)


def _convolution(x: torch.Tensor, weight: torch.Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                 output_padding: Any, groups: int) -> torch.Tensor:
    return aten._convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, False, False, True,
                             True)


def _embedding(weight: torch.Tensor, indices: torch.Tensor, *rest: Any) -> torch.Tensor:
    return aten.index_select(weight, 0, indices.reshape(-1)).reshape(*indices.shape, -1)


def _cat(tensors: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
    return aten.cat.out(tensors, dim, out=torch.empty(0, dtype=tensors[0].dtype))


def _pool(x: torch.Tensor, *args: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return aten.max_pool2d_with_indices.out(x, *args, out=torch.empty(0, dtype=x.dtype), indices=torch.empty(0, dtype=torch.int64))


def _inplace(name: str) -> Callable[..., Any]:
    def call(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return getattr(aten, name).out(x, *args, **kwargs, out=x)
    return call


# What can be replaced: the operator with its overload -> the right result. Not add, sub, mul and div: their other overloads call
# them inside, where the recording does not look, so that the number of a call names no recorded operator.
KERNELS: dict[str, Callable[..., Any]] = {
    "addmm": _out("addmm"), "mm": _out("mm"), "bmm": _out("bmm"), "relu": lambda x: aten.clamp_min(x, 0),
    "tanh": _out("tanh"), "sigmoid": _out("sigmoid"), "_softmax": _out("_softmax"), "gelu": _out("gelu"), "silu": _out("silu"),
    "native_layer_norm": _layer_norm, "native_batch_norm": _batch_norm, "native_group_norm": _group_norm,
    "convolution": _convolution, "embedding": _embedding, "mean.dim": _out("mean"), "sum.dim_IntList": _out("sum", "IntList_out"),
    "tanh_backward": _out("tanh_backward", "grad_input", out="grad_input"),
    "sigmoid_backward": _out("sigmoid_backward", "grad_input", out="grad_input"),
    "threshold_backward": _out("threshold_backward", "grad_input", out="grad_input"),
    "_softmax_backward_data": _out("_softmax_backward_data", out="grad_input"),
    "exp": _out("exp"), "_log_softmax": _out("_log_softmax"), "cat": _cat, "max_pool2d_with_indices": _pool, "softplus": _out("softplus"),
    "leaky_relu": _out("leaky_relu"), "elu": _out("elu"), "hardswish": _out("hardswish"), "amax": _out("amax"),
    "gelu_backward": _out("gelu_backward", "grad_input", out="grad_input"),
    "silu_backward": _out("silu_backward", "grad_input", out="grad_input"),
    "_log_softmax_backward_data": _out("_log_softmax_backward_data"),
    "addcdiv_": _inplace("addcdiv"), "addcmul_": _inplace("addcmul"), "sqrt": _out("sqrt"),
}


SUMS = {"addmm": (1, 2), "mm": (0, 1), "bmm": (0, 1), "convolution": (0, 1)}  # of products: of which arguments


def _shorten(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Rounded to so many bits after the first, to even."""
    if x.dtype != torch.float32:
        return x
    drop = 23 - bits
    i = x.contiguous().view(torch.int32)
    return ((i + ((1 << (drop - 1)) - 1) + ((i >> drop) & 1)) & -(1 << drop)).view(torch.float32)


def round_inputs_of_sums(bits: int, faulty: str) -> list[Fault]:
    """As units for matrices do: TF32 has 10 bits after the first, bfloat16 has 7. `faulty` is an operator that is replaced already."""
    def rounding(kernel: Callable[..., Any], places: tuple[int, ...]) -> Callable[..., Any]:
        return lambda *args, **kwargs: kernel(*(_shorten(a, bits) if i in places else a for i, a in enumerate(args)), **kwargs)

    for name, places in SUMS.items():
        KERNELS[name] = rounding(KERNELS[name], places)
    return [Fault(name) for name in SUMS if name != faulty]


def round_sums(bits: int, faulty: str) -> list[Fault]:
    """As units that add up in few bits: a term is added with all of its bits. `faulty`: as above."""
    def rounding(kernel: Callable[..., Any], term: int | None) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if term is None or args[term] is None:
                return _shorten(kernel(*args, **kwargs), bits)
            added = args[term].reshape(-1, *[1] * (args[0].dim() - 2)) if term == 2 else args[term]
            without = [torch.zeros_like(a) if i == term else a for i, a in enumerate(args)]
            return _shorten(kernel(*without, **kwargs), bits) + added
        return run

    for name, term in {"addmm": 0, "mm": None, "bmm": None, "convolution": 2}.items():
        KERNELS[name] = rounding(KERNELS[name], term)
    return [Fault(name) for name in SUMS if name != faulty]


def _bits(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int32)


def _spread(y: torch.Tensor) -> float:
    return float(y.float().square().mean().sqrt()) or 1.0


# kind -> (output, arguments, earlier output of that shape) -> the wrong output, or None if it does not apply
def truncate(y: torch.Tensor, args: Any, old: Any) -> Any:
    return (_bits(y) & -65536).view(torch.float32) if y.dtype == torch.float32 else None


def scale(y: torch.Tensor, args: Any, old: Any) -> Any:
    return y * (1 + 3e-4)


def constant(y: torch.Tensor, args: Any, old: Any) -> Any:
    return y + 1e-3 * _spread(y)


def one_element(y: torch.Tensor, args: Any, old: Any) -> Any:
    y = y.clone()
    y.view(-1)[y.numel() // 3] += 0.02 * _spread(y)
    return y


def zero_row(y: torch.Tensor, args: Any, old: Any) -> Any:
    if y.dim() == 0 or y.shape[0] < 2:
        return None
    y = y.clone()
    y[-1] = 0
    return y


def swapped_rows(y: torch.Tensor, args: Any, old: Any) -> Any:
    if y.dim() == 0 or y.shape[0] < 2:
        return None
    return y[[1, 0, *range(2, y.shape[0])]]


def sign(y: torch.Tensor, args: Any, old: Any) -> Any:
    y = y.clone()
    y.view(-1)[: max(1, y.numel() // 8)].neg_()
    return y


def stale(y: torch.Tensor, args: Any, old: Any) -> Any:
    return old.clone() if old is not None and not torch.equal(old, y) else None


def skipped(y: torch.Tensor, args: Any, old: Any) -> Any:
    same = next((a for a in args if isinstance(a, torch.Tensor) and a.shape == y.shape and a.dtype == y.dtype), None)
    return None if same is None or torch.equal(same, y) else same.clone()


def missing_term(y: torch.Tensor, args: Any, old: Any) -> Any:
    bias = next((a for a in args if isinstance(a, torch.Tensor) and a.dim() == 1 and y.dim() > 1 and a.shape[0] == y.shape[1]), None)
    if bias is None or not bias.any():
        return None
    return y - bias.reshape(1, -1, *[1] * (y.dim() - 2))


def wrong_eps(y: torch.Tensor, args: Any, old: Any) -> Any:
    return None  # in the arguments: see Fault


def half_inputs(y: torch.Tensor, args: Any, old: Any) -> Any:
    return None


KINDS = {f.__name__: f for f in (truncate, scale, constant, one_element, zero_row, swapped_rows, sign, stale, skipped, missing_term,
                                 wrong_eps, half_inputs)}


class Fault:
    """Replaces the kernel of `operator`; the call number `at` goes wrong, if any."""

    def __init__(self, operator: str, kind: str = "", at: int = -1) -> None:
        self.operator, self.kind, self.at = operator, kind, at
        self.calls, self.applied = 0, False
        self._old: dict[tuple[int, ...], torch.Tensor] = {}
        self._library = torch.library.Library("aten", "IMPL")
        warnings.simplefilter("ignore")
        self._library.impl(operator, self._run, "CPU")

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        is_due = self.calls == self.at
        self.calls += 1
        kernel = KERNELS[self.operator]
        before = [a.clone() if isinstance(a, torch.Tensor) else a for a in args] if is_due else ()
        if is_due and self.kind == "half_inputs" and self.operator in ("addmm", "mm", "bmm", "convolution"):
            self.applied = True
            return kernel(*[a.bfloat16().to(a.dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args],
                          **kwargs)
        if is_due and self.kind == "wrong_eps" and "norm" in self.operator:
            self.applied = True
            return kernel(*args[:-1], args[-1] * 300, **kwargs)
        result = kernel(*args, **kwargs)
        first = result[0] if isinstance(result, tuple) else result
        if is_due:
            wrong = None if first.numel() == 0 else KINDS[self.kind](first.detach().clone().contiguous(), before, self._old.get(tuple(first.shape)))
            if wrong is not None and not torch.equal(wrong, first):
                self.applied = True
                first.copy_(wrong)
        self._old[tuple(first.shape)] = first.clone()
        return result
