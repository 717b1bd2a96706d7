"""A daemon's way: closes every descriptor that it does not know, and opens files of its own."""

import os
import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(300, 400)
    y = x * 2
    os.closerange(3, 4096)
    files = [os.open(f"file{i}.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC) for i in range(8)]
    for file in files:
        os.write(file, b"mine\n")
    train(Net())
    z = (x + y).sum()
    show("sum", z)
for file in files:
    show("file", os.pread(file, 1 << 20, 0))
    os.close(file)
show_state()
