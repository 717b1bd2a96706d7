"""Operators that the program registers itself, in Python."""

import torch
from printed import *

torch.manual_seed(0)


def fill(x, value):
    x.fill_(value)


with watched():
    mine = torch.library.Library("messy", "DEF")
    mine.define("twice(Tensor x) -> Tensor")
    mine.define("fill_(Tensor(a!) x, float value) -> ()")
    mine.impl("twice", lambda x: x * 2, "CPU")
    mine.impl("fill_", fill, "CPU")
    show("twice", torch.ops.messy.twice(torch.ones(3)))
    x = torch.ones(3)
    torch.ops.messy.fill_(x, 4.0)
    show("filled", x)
    aten = torch.library.Library("aten", "IMPL")
    aten.impl("neg", lambda x: x * -1, "AutogradCPU")
    show("neg", torch.neg(torch.ones(2)))
show_state()
