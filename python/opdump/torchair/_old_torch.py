"""torch.compile for a torch without it, so that programs for newer versions run."""

from __future__ import annotations

import functools
import sys
from typing import Any


def provide_compile() -> None:
    """Adds a torch.compile that accepts only TorchAir's backends, if torch is imported."""
    torch = sys.modules.get("torch")
    if torch is not None and not hasattr(torch, "compile"):
        torch.compile = _compile


def _compile(model: Any = None, *, backend: Any = None, options: dict[str, Any] | None = None, **unused: Any) -> Any:
    """Runs the model unchanged and records it. Without a model, returns a decorator."""
    if model is None:
        return functools.partial(_compile, backend=backend, options=options, **unused)
    if backend == "npugraph_ex":  # a name that torch_npu registers
        from opdump.torchair._run import npugraph_ex

        backend = npugraph_ex(options or {})
    if not getattr(backend, "shows_operators", False):
        raise RuntimeError("this torch has no torch.compile; opdump.torchair provides one for backends of get_npu_backend and for npugraph_ex only")
    return backend.start(model)
