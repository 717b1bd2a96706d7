"""Ends by a signal inside of the block."""

import os
import signal
import torch
from told import *

torch.manual_seed(0)
with watched():
    tell("x", torch.randn(4) * 2)
    tell_state()
    os.kill(os.getpid(), signal.SIGTERM)
