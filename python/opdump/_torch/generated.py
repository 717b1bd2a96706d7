"""Whether the code that a compiler generated for a region gives the results of the region's operators.

Where a region is recorded operator by operator, the generated code runs beside it, on copies of its arguments, and nothing that
it makes reaches the program. Results that are not those of the operators are recorded as results of the region.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from opdump._stderr import print_line
from opdump._torch import recorder as hooks
from opdump._torch.unrecorded import unrecorded

# Relative L2 distances that rounding does not reach in a region: a hundred times the tolerance of one operator.
_LIMITS = {torch.float64: 1e-5, torch.float32: 1.3e-4, torch.float16: 0.1, torch.bfloat16: 0.2}
_CANCELLED = 1000  # roundoffs of the largest tensor, that a sum of large numbers may be off by
_FLIPPED = 0.01  # of integers that follow from floating-point numbers


class GeneratedCode:
    """That of one region. `backend` is that of the program; `is_random`: its code makes random numbers of its own."""

    def __init__(self, backend: Callable[..., Any], module: torch.fx.GraphModule, is_random: bool) -> None:
        self._backend, self._is_random = backend, is_random
        self._module = _bare_copy(module) if _may_run_twice(module) else None
        self._run: Callable[..., Any] | None = None

    def results_of(self, args: tuple[Any, ...]) -> list[torch.Tensor] | None:
        """What it returns, and what it leaves in its arguments. None if that cannot be compared with what operators make."""
        copies = results = None
        with _unless_it_fails():
            with _out_of_sight():
                copies = _copy(args) if self._module else None
            if copies is None:
                return None
            run = self._run
            if run is None:
                module, self._module = self._module, None  # it is tried once
                run = self._run = _compile(self._backend, module, copies)
                self._module = module
            with _out_of_sight(), _random_state_kept(args) as draws:
                results = [value.detach().clone() for value in _tensors([run(*copies), copies])]
                if self._is_random and draws():
                    results = None
        return results


def report_difference(region: str, generated: list[torch.Tensor], made: list[torch.Tensor], is_exact: bool) -> None:
    """Records the results of a region's code if they are not those of its operators, `made`. `is_exact`: no floating-point
    numbers went into it."""
    with _unless_it_fails(), _out_of_sight():
        made = [value.detach() for value in made]
        scale = max((float(value.double().norm()) for value in made if value.dtype in _LIMITS), default=0.0)
        pairs = list(itertools.zip_longest(generated, made))
        number = next((i for i, (a, b) in enumerate(pairs) if not _is_same(a, b, scale, is_exact)), None)
        if number is None:
            return
        call = torch.ops.opdump_torch.begin_region(region, [])
        torch.ops.opdump_torch.end_region(call, generated, False)
        print_line(f"the code generated for the region {region} gives another result than its operators: "
                   f"{_describe(*pairs[number])}; compare with a recording of the program without torch.compile")


def _describe(generated: torch.Tensor | None, made: torch.Tensor | None) -> str:
    if generated is None or made is None:
        return "other tensors"
    if generated.shape != made.shape or generated.dtype != made.dtype:
        return f"{generated.dtype} {tuple(generated.shape)} instead of {made.dtype} {tuple(made.shape)}"
    differs = (generated != made).flatten()
    wide = torch.complex128 if made.is_complex() else torch.float64
    distance = (generated.to(wide) - made.to(wide)).abs().flatten().nan_to_num(nan=math.inf, posinf=math.inf)
    place = int(distance.masked_fill(~differs, -1).argmax())
    return (f"{int(differs.sum())} of {differs.numel()} elements differ, by most {generated.flatten()[place].item()} instead of "
            f"{made.flatten()[place].item()}")


def _is_same(a: torch.Tensor | None, b: torch.Tensor | None, scale: float, is_exact: bool) -> bool:
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype in _LIMITS:
        if not torch.equal(a.isfinite(), b.isfinite()):
            return False
        x, y = (value.double().nan_to_num(0, 0, 0) for value in (a, b))
        floor = _CANCELLED * torch.finfo(a.dtype).eps * scale
        return float((x - y).norm()) <= max(_LIMITS[a.dtype] * float(y.norm()), floor)
    if a.is_complex():
        return torch.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)
    differing = int((a != b).sum())
    return differing == 0 if is_exact else differing <= _FLIPPED * a.numel()


@unrecorded
def _compile(backend: Callable[..., Any], module: torch.fx.GraphModule, args: list[Any]) -> Callable[..., Any]:
    """Apart from the compilation of the program, whose guards would see what this one notes of the arguments."""
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return backend(module, args)


def _bare_copy(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Without what the compiler has noted of its nodes."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for node in graph.nodes:
        node.meta = {}
    return torch.fx.GraphModule(module, graph)


def _may_run_twice(module: torch.fx.GraphModule) -> bool:
    """What a region keeps between calls would be changed twice, and ranks would wait for one another. Code for arguments of any
    size is not made outside of the program's compilation."""
    if any(isinstance(node.meta.get("example_value"), torch.SymInt) for node in module.graph.nodes if node.op == "placeholder"):
        return False
    if next(itertools.chain(module.parameters(), module.buffers()), None) is not None:
        return False
    for node in module.graph.nodes:
        if not node.op.startswith("call_"):
            continue
        target = node.target
        namespace = getattr(target, "namespace", None) or str(getattr(target, "_qualified_op_name", "aten")).partition("::")[0]
        where = f"{getattr(target, '__module__', '')} {target}"
        if namespace not in ("aten", "prims", "higher_order") or "distributed" in where or "c10d" in where:
            return False
    return True


@contextlib.contextmanager
def _unless_it_fails() -> Iterator[None]:
    """The recording has all operators all the same."""
    try:
        yield
    except Exception as error:
        _say_that_it_fails(repr(error).split("\\n")[0])


@functools.cache
def _say_that_it_fails(why: str) -> None:
    print_line(f"the generated code of a compiled region is not checked: {why}")


@contextlib.contextmanager
def _out_of_sight() -> Iterator[None]:
    """Of the recorder, and of the program's modes."""
    hooks.hide()
    try:
        yield
    finally:
        hooks.unhide()


@contextlib.contextmanager
def _random_state_kept(args: tuple[Any, ...]) -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether random numbers were drawn."""
    devices = {value.device for value in _tensors(args) if value.device.type == "cuda"}
    before = [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in devices)]

    def draws() -> bool:
        now = [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in devices)]
        return not all(map(torch.equal, before, now))

    try:
        yield draws
    finally:
        torch.set_rng_state(before[0])
        for device, state in zip(devices, before[1:]):
            torch.cuda.set_rng_state(state, device)


def _copy(args: tuple[Any, ...]) -> list[Any] | None:
    """Arguments that share memory do so in the copy, too. None if one of them is of a class of its own."""
    memory: dict[int, Any] = {}
    copies = []
    for value in args:
        if isinstance(value, torch.Tensor):
            if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
                return None
            storage = value.untyped_storage()
            if storage._cdata not in memory:
                memory[storage._cdata] = storage.clone()
            same = torch.empty(0, dtype=value.dtype, device=value.device)
            same.set_(memory[storage._cdata], value.storage_offset(), value.size(), value.stride())
            value = same.requires_grad_(value.requires_grad)
        copies.append(value)
    return copies


def _tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in torch.utils._pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


def is_exact(args: tuple[Any, ...]) -> bool:
    """Whether no argument is a tensor of floating-point numbers."""
    return not any(value.is_floating_point() or value.is_complex() for value in _tensors(args))
