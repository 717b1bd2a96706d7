"""torch.compile for a torch that has none, so that programs written for a newer one run."""

from __future__ import annotations

import functools
import sys
from typing import Any


def provide_compile() -> None:
    """Gives torch, if it is imported, a torch.compile that takes backends of TorchAir and no others."""
    torch = sys.modules.get("torch")
    if torch is not None and not hasattr(torch, "compile"):
        torch.compile = _compile


def _compile(model: Any = None, *, backend: Any = None, options: dict[str, Any] | None = None, **unused: Any) -> Any:
    """The model runs as it is and is recorded; a decorator if it is not given."""
    if model is None:
        return functools.partial(_compile, backend=backend, options=options, **unused)
    if backend == "npugraph_ex":  # a name that torch_npu registers
        from opdump.torchair._run import npugraph_ex

        backend = npugraph_ex(options or {})
    if not getattr(backend, "shows_operators", False):
        raise RuntimeError("this torch has no torch.compile; opdump.torchair provides one for backends of get_npu_backend and for npugraph_ex only")
    return backend.start(model)
