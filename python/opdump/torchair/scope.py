"""torchair.scope.data_dump: only operators inside it, and those in dump_layer, are dumped."""

from __future__ import annotations

import contextlib
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from typing import Any

from opdump import _on_import

__all__ = ["data_dump"]

KEY = "opdump.mark"  # in what torch.fx.traceback.annotate() keeps of nodes
MARK = "torchair.scope.data_dump"  # in the list of operators of a configuration: those of these regions

_depth = threading.local()
_restricts = False  # the recording knows of regions


def data_dump() -> contextlib.AbstractContextManager[None]:
    """Marks the operators inside it. Use it around operators in the forward method of a model."""
    import torch

    if not hasattr(torch, "compiler") or not torch.compiler.is_compiling():
        return _region()
    if not hasattr(torch.fx.traceback, "annotate"):  # before torch 2.9: the graph cannot say it
        return contextlib.nullcontext()
    return torch.fx.traceback.annotate({KEY: MARK})  # goes with the nodes of the graph


@contextlib.contextmanager
def _region() -> Iterator[None]:
    recorder, depth = _on_import.attachment_of_torch(), getattr(_depth, "value", 0)
    if recorder and not _restricts:
        warnings.warn("scope.data_dump() was not seen when the model was compiled: everything is dumped", stacklevel=3)
    if recorder and depth == 0:
        recorder.mark(MARK)
    _depth.value = depth + 1
    try:
        yield
    finally:
        _depth.value = depth
        if recorder and depth == 0:
            recorder.mark(None)


def is_used_by(model: Any) -> bool:
    """Whether the code of `model`, a module or a function, mentions a region: the code of its modules' classes and all else
    in the files where these are defined; a graph of torch.compile has marked nodes. A recording has to know before it begins."""
    if any((node.meta.get("custom") or {}).get(KEY) for node in getattr(getattr(model, "graph", None), "nodes", ())):
        return True
    parts = [type(part) for part in model.modules()] if hasattr(model, "modules") else [model]
    names = {getattr(part, "__module__", None) for part in parts}
    return any(_mentions(vars(sys.modules[name])) for name in names if name in sys.modules and not _is_library(name))


def restrict() -> None:
    """The recording to come dumps marked operators."""
    global _restricts
    _restricts = True


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in ("torch", "torchvision", "opdump", "builtins")


def _mentions(namespace: dict[str, Any]) -> bool:
    for value in list(namespace.values()):
        if value is data_dump:
            return True
        members = vars(value).values() if isinstance(value, type) else [value]
        if any(_code_mentions(member.__code__) for member in members if isinstance(member, types.FunctionType)):
            return True
    return False


def _code_mentions(code: types.CodeType) -> bool:
    return "data_dump" in code.co_names or any(_code_mentions(c) for c in code.co_consts if isinstance(c, types.CodeType))
