"""Closes its stdout and opens a file of its own on that descriptor."""

import os
import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(4)
    os.close(1)
    mine = os.open("mine.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    y = (x * 2).exp()
    os.write(mine, b"mine\n")
print(mine, os.pread(mine, 1000, 0), digest(y), file=sys.stderr)
