"""torch.compile for a torch without it, so that programs for newer versions run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

named_backends: dict[str, Callable[[dict[str, Any]], Any]] = {}  # from their options, as torch_npu registers them


def provide_compile() -> None:
    """Adds a torch.compile that accepts only TorchAir's backends, if torch is imported."""
    torch = sys.modules.get("torch")
    if torch is not None and not hasattr(torch, "compile"):
        vars(torch)["compile"] = _compile


def _compile(model: Any = None, *, backend: Any = None, options: dict[str, Any] | None = None, **unused: Any) -> Any:
    """Runs the model unchanged and records it. Without a model, returns a decorator."""
    if model is None:
        return functools.partial(_compile, backend=backend, options=options, **unused)
    make = named_backends.get(backend) if isinstance(backend, str) else None
    if make is not None:
        backend = make(options or {})
    if isinstance(backend, str) or not getattr(backend, "shows_operators", False):
        raise RuntimeError("this torch has no torch.compile; opdump.torchair provides one for backends of get_npu_backend and for npugraph_ex only")
    return backend.start(model)
