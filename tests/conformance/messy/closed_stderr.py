"""Closes its stderr and opens files on the descriptors that are free."""

import os
import torch
from told import *

torch.manual_seed(0)
with watched():
    x = torch.randn(4)
    os.close(2)
    mine = os.open("mine.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(mine, b"first\n")
    train(Net())
    tell("descriptor", mine, x * 2)
os.write(mine, b"last\n")
tell("file", open("mine.txt").read())
tell_state()
