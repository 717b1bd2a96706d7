"""Children by fork, which run operators, print, and end by exit and by _exit."""

import os
import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(4, requires_grad=True)
    y = (x * 3).sin()
    for end in (os._exit, sys.exit):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            y.sum().backward()
            show("child", x.grad, torch.randn(2), (x.detach() * 1e38) * 1e38)
            sys.stdout.flush()
            end(5)
        show("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    y.sum().backward()
    show("parent", x.grad)
show_state()
