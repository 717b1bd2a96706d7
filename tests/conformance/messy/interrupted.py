"""Ctrl-C in the middle of a step."""

import os
import signal
import torch
from printed import *

torch.manual_seed(0)
model = Net()
with watched():
    train(model, steps=1)
    show_state()
    model(torch.randn(2, 4))
    os.kill(os.getpid(), signal.SIGINT)
    model(torch.randn(2, 4))
