"""Closes its stderr and opens files on the descriptors that are free."""

import os
import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(4)
    os.close(2)
    mine = os.open("mine.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(mine, b"first\n")
    train(Net())
    show("descriptor", mine, x * 2)
os.write(mine, b"last\n")
show("file", open("mine.txt").read())
show_state()
