"""References in float64 for operators that torch has in fewer types only, for `opdump blame`."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch


def _grouped_mm(self: torch.Tensor, mat2: torch.Tensor, offs: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None,
                out_dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """A product for each group; groups of rows, columns or terms of a sum end at `offs`."""
    if bias is not None:
        raise RuntimeError("_grouped_mm has no reference with a bias")
    if offs is None:
        return self @ mat2
    ends = [int(end) for end in offs]
    groups = [slice(start, end) for start, end in zip([0, *ends], ends)]
    if self.dim() == 2 and mat2.dim() == 2:
        return torch.stack([self[:, group] @ mat2[group] for group in groups])
    if self.dim() == 2:
        result = self.new_zeros(self.shape[0], mat2.shape[2])
        for i, group in enumerate(groups):
            result[group] = self[group] @ mat2[i]
    else:
        result = self.new_zeros(self.shape[1], mat2.shape[1])
        for i, group in enumerate(groups):
            result[:, group] = self[i] @ mat2[:, group]
    return result


REFERENCES: dict[str, Callable[..., Any]] = {"_grouped_mm": _grouped_mm}
