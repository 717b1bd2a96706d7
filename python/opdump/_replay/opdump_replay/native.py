"""An operator of this torch on recorded inputs, in their own types, for `opdump blame`."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .removal import bits_of
from .rounding import ROUNDOFF, Tensors

_FEW = 32  # at most one element of so many is odd
_SMALL = 2.0**-16  # of the root mean square: what is left where terms cancel


class Native:
    """What was recorded, against what the operator makes here."""

    def __init__(self, made: list[Optional[torch.Tensor]], recorded: Tensors) -> None:
        """Raises ValueError if they are not of one form."""
        self.is_same = True
        # By output of 16 bits: how many elements are odd, that is off by more than a last bit, while all others are the same. Another
        # kernel computes with more bits than it keeps: it rounds many elements otherwise, or few ones by a last bit.
        self.odd: dict[int, int] = {}
        for i, x in recorded.items():
            y = made[i]
            if y is None or y.dtype != x.dtype or y.shape != x.shape:
                raise ValueError(f"output {i} is of another form")
            x, y = x.resolve_conj().flatten(), y.resolve_conj().flatten()
            differs = bits_of(x) != bits_of(y)
            if bool(differs.any()):
                self.is_same = False
                count = _count_odd(x, y, differs)
                if count:
                    self.odd[i] = count


def _count_odd(x: torch.Tensor, y: torch.Tensor, differs: torch.Tensor) -> int:
    count = int(differs.sum())
    if x.dtype not in (torch.float16, torch.bfloat16) or _FEW * count > x.numel():
        return 0
    small = _SMALL * float(y.to(torch.float64).square().mean().sqrt())
    a, b = x[differs].to(torch.float64), y[differs].to(torch.float64)
    last = 2.02 * ROUNDOFF[str(x.dtype)[6:]] * torch.maximum(a.abs(), b.abs()) + small
    return count if bool((~((a - b).abs() <= last)).all()) else 0


def run(op: Any, arguments: dict[str, Any], inputs: Tensors, recorded: Tensors) -> Optional[Native]:
    """None if it cannot be run, of which the exact replay gives the reason."""
    try:
        return Native(op.run(arguments, inputs, None, is_exact=False), recorded)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None
