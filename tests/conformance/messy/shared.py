"""Memory that is shared: share_memory, queues of processes, NumPy, dlpack, storages that are resized and swapped."""

import numpy
import torch
from printed import *

torch.manual_seed(0)


def work(queue, model, taken):
    torch.manual_seed(1)
    queue.put(model(torch.ones(2, 4)).detach())
    queue.put(torch.arange(6.0).reshape(2, 3) * 2)
    taken.wait()


with watched():
    model = Net().eval()
    model.share_memory()
    show("shared", [p.is_shared() for p in model.parameters()])
    context = torch.multiprocessing.get_context("fork")
    queue, taken = context.Queue(), context.Event()
    process = context.Process(target=work, args=(queue, model, taken))
    process.start()
    show("from the child", queue.get(), queue.get())
    taken.set()
    process.join()
    show("child", process.exitcode)
    x = torch.randn(4)
    array = x.numpy()
    y = x * 2
    array[:] = 7
    show("numpy", x + 1, y, torch.from_numpy(numpy.arange(3.0)) + 1)
    show("dlpack", torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)) * 3)
    big = torch.randn(1000, 100)
    total = big.sum()
    size = big.storage().size()
    big.storage().resize_(0)
    big.storage().resize_(size)
    big.fill_(1)
    show("resized", total, big.sum())
    a, b = torch.randn(300000), torch.randn(300000)
    c = a + b
    a.set_(b)
    show("set", a, c)
    a.data = torch.zeros(3)
    show("data", a + 1)
show_state()
