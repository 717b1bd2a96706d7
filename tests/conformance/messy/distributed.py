"""Two processes with gloo: collectives of every kind, DDP."""

import os
import torch.distributed as dist
import torch
from printed import *

torch.manual_seed(0)


def main(rank, out):
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=rank, world_size=2)
    torch.manual_seed(0)
    x = torch.full((1000,), float(rank + 1))
    dist.all_reduce(x)
    y = x * 2
    work = dist.all_reduce(y, async_op=True)
    work.wait()
    parts = [torch.zeros(3) for _ in range(2)]
    dist.all_gather(parts, torch.full((3,), float(rank)))
    dist.broadcast(x, 1)
    model = torch.nn.parallel.DistributedDataParallel(Net().eval())
    model(torch.full((2, 4), float(rank))).square().sum().backward()
    dist.barrier()
    out.put((rank, digest([x, y, *parts, model.module])))
    dist.destroy_process_group()


if __name__ == "__main__":
    with watched():
        context = torch.multiprocessing.get_context("fork")
        out = context.SimpleQueue()
        processes = [context.Process(target=main, args=(rank, out)) for rank in range(2)]
        for process in processes:
            process.start()
        show("results", sorted(out.get() for _ in processes))
        for process in processes:
            process.join()
        show("ends", [process.exitcode for process in processes])
    show_state()
