"""Nested tensors."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    nested = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)])
    show("nested", torch.nested.to_padded_tensor(nested, 0.0))
    show("parts", [part for part in (nested + nested).unbind()])
show_state()
