"""Nested tensors."""

import torch
from told import *

torch.manual_seed(0)
with watched():
    nested = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)])
    tell("nested", torch.nested.to_padded_tensor(nested, 0.0))
    tell("parts", [part for part in (nested + nested).unbind()])
tell_state()
