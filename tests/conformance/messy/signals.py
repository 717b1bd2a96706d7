"""Handlers of signals, an alarm in the middle of operators, ignored signals, masks."""

import os
import signal
import torch
from printed import *

torch.manual_seed(0)
seen = []
for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM):
    signal.signal(number, lambda n, frame: seen.append(signal.Signals(n).name))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with watched():
    x = torch.randn(50, 50)
    os.kill(os.getpid(), signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    while "SIGALRM" not in seen:
        y = x @ x
    os.kill(os.getpid(), signal.SIGTERM)
    show("y", y)
show("seen", sorted(set(seen)), signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, signal.getsignal(signal.SIGINT) is signal.default_int_handler,
     sorted(int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getsignal(signal.SIGPIPE).name)
show_state()
