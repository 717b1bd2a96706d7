import ctypes
import sys
import torch
from opdump.dumper import dumper
with dumper(use_dump=True, dump_path=sys.argv[1]):
    a, b, c = (torch.empty(4) for _ in range(3))
    a.numpy()[:] = int(sys.argv[2])
    a * 2
    ctypes.memset(b.data_ptr(), int(sys.argv[2]), 16)
    b + 1
    c.zero_()
    c - 1
