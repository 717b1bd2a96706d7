"""atexit functions that run operators, weak finalizers, an exit status."""

import atexit
import weakref
import torch
from printed import *

torch.manual_seed(0)
model = Net()
atexit.register(lambda: show("atexit", model(torch.ones(1, 4)), torch.ones(3).sum()))
weakref.finalize(model, print, "finalised", flush=True)
with watched():
    train(model, steps=1)
    show_state()
    sys.exit(7)
