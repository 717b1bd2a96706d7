"""Ends as it is told, in step 7: by an exception, a signal, an exit status, or after 12 steps."""

import os
import signal
import sys

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    loss = net(torch.randn(3, 4)).pow(2).mean()
    if step == 7:
        if sys.argv[1] == "exception":
            net(torch.randn(3, 5))
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[1] == "segv":
            os.kill(os.getpid(), signal.SIGSEGV)
        if sys.argv[1] == "exit":
            sys.exit(5)
        if sys.argv[1] == "alarm":
            import opdump

            opdump.alarm("accuracy fell to 3 %")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", float(loss), torch.rand(1).item())
