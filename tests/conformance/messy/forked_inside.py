"""A child that leaves the block that it was forked in, and begins a training of its own."""

import os
import torch
from printed import *

torch.manual_seed(0)
child = 1
with watched():
    show("before", torch.ones(3) + 1)
    child = os.fork()
    if child == 0:
        train(Net(), steps=1)
if child == 0:
    show("outside", torch.ones(3) * 2, torch.get_rng_state())  # Python gives its own a new seed
    sys.exit(3)
show("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
show_state()
