"""TorchAir's two dumps that do not come from the graph engine (torch_tf_frontends.md A.7): each operator of a model's
forward pass, seen from Python and written at once.

    config.debug.data_dump.type = "npy"      inputs and outputs of each as .npy
    config.mode = "reduce-overhead"          outputs of each as .pt

Slower than the recorder by far, as the originals are. Operators of backward passes are not seen.
"""

from __future__ import annotations

import datetime
import functools
import os
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opdump._imports import report_to_run
from opdump.torchair._config import CompilerConfig, make_rank_directory


class _Nodes(TorchDispatchMode):
    """Names operators like the nodes of a torch.fx graph: add, add_1, ..."""

    def __init__(self, write: Callable[[types.SimpleNamespace, list[Any], Any], None]) -> None:
        super().__init__()
        self._write, self._count = write, Counter()

    def __torch_dispatch__(self, func: Any, kinds: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        name = func.overloadpacket.__name__
        number = self._count[name]
        self._count[name] += 1
        node = types.SimpleNamespace(name=f"{name}_{number}" if number else name, target=func, op="call_function")
        inputs = [_copy(value) for value in (*args, *(kwargs or {}).values())]  # before an operator changes them in place
        result = func(*args, **(kwargs or {}))
        self._write(node, inputs, result)
        return result


def _copy(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _to_array(value: Any) -> numpy.ndarray | None:
    """None for a value that is not a tensor, number or text."""
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            value = value.float()
        return value.detach().cpu().resolve_conj().resolve_neg().numpy() if value.layout == torch.strided else None
    return numpy.asarray(value) if isinstance(value, (bool, int, float, complex, str)) else None


def _numbered(values: Any) -> Iterator[tuple[str, Any]]:
    """("0", value), or ("0.1", item) for the items of a list."""
    for index, value in enumerate(values):
        if isinstance(value, (list, tuple)):
            yield from ((f"{index}.{inner}", item) for inner, item in enumerate(value))
        else:
            yield str(index), value


class NpyDump:
    """{path}/worldsize{W}_global_rank{R}/graph_{n}/{step}/{node}-{operator}.{INPUT|OUTPUT}.{i}[.{j}].{time}.npy"""

    _graphs = Counter[str]()

    def __init__(self, config: CompilerConfig) -> None:
        options = config.debug.data_dump
        self._parent, self._filter, self._step = options.path.value, options.filter, 0
        self._number = NpyDump._graphs["all"]
        NpyDump._graphs["all"] += 1

    def __call__(self, inputs: list[Any]) -> TorchDispatchMode:
        self._directory = os.path.join(make_rank_directory(self._parent), f"graph_{self._number}", str(self._step))
        self._step += 1
        os.makedirs(self._directory, exist_ok=True)
        return _Nodes(self._write)

    def _write(self, node: types.SimpleNamespace, inputs: list[Any], result: Any) -> None:
        if self._filter and not self._filter._value(node):
            return
        outputs = result if isinstance(result, (list, tuple)) else [result]
        for side, values in (("INPUT", inputs), ("OUTPUT", outputs)):
            for index, value in _numbered(values):
                if (array := _to_array(value)) is None:
                    continue
                time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d%H%M%S%f")
                name = f"{node.name}-{str(node.target)}.{side}.{index}.{time}.npy"
                numpy.save(os.path.join(self._directory, name), array)


class PtDump:
    """{path}/worldsize{W}_global_rank{R}/{node}.pt, the weights and inputs of the model first: arg0_1, arg1_1, ..."""

    def __init__(self, config: CompilerConfig) -> None:
        self._directory = make_rank_directory(config.dump_config.dump_path.value)

    def __call__(self, inputs: list[Any]) -> TorchDispatchMode:
        for index, value in enumerate(value for value in inputs if isinstance(value, torch.Tensor)):
            self._save(f"arg{index}_1", value)
        return _Nodes(self._write)

    def _write(self, node: types.SimpleNamespace, inputs: list[Any], result: Any) -> None:
        if isinstance(result, torch.Tensor):
            self._save(node.name, result)

    def _save(self, name: str, value: torch.Tensor) -> None:
        torch.save(value.detach().clone(), os.path.join(self._directory, f"{name}.pt"))


def watch(model: Any, dump: NpyDump | PtDump) -> Any:
    """Returns `model`, a module or a function, with each call dumped. A module stays the same object."""
    is_module = isinstance(model, torch.nn.Module)
    if hasattr(model, "real_recompile"):  # a graph whose forward() would replace itself when it is called
        model.real_recompile()
    forward = model.forward if is_module else model
    report_to_run("+-")
    weights = [*model.parameters(), *model.buffers()] if is_module else []

    @functools.wraps(forward)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with dump([*weights, *args, *kwargs.values()]):
            return forward(*args, **kwargs)

    if not is_module:
        return watched
    model.forward = watched
    return model
