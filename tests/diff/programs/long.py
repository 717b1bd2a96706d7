"""Many small steps. Prints one JSON object: what grew between step 300 and the end, and how much slower the last steps were."""

import json
import os
import resource
import statistics
import sys
import time

import torch

EARLY, COUNT = 300, 300


def measure():
    # The peak of memory, in KiB; what is open but for the directory that is listed.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(os.listdir("/proc/self/fd")) - 1


torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters())
times = []
for step in range(int(sys.argv[1])):
    if step == EARLY:
        before = measure()
    begin = time.thread_time()  # of this thread: the machine may be busy
    net(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    times.append(time.thread_time() - begin)
memory, files = measure()
slower = statistics.median(times[-COUNT:]) / statistics.median(times[EARLY : EARLY + COUNT])
print(json.dumps({"memory_kib": memory - before[0], "files": files - before[1], "slower": slower}))
