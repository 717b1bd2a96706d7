"""Processes that multiprocessing spawns: each trains its own model and sends the result back through a queue."""

import fingerprint
import torch
import torch.multiprocessing as mp


def work(number, queue):
    torch.manual_seed(number)
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.RMSprop(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).pow(2).sum().backward()
        optimizer.step()
    queue.put((number, fingerprint.of(model.state_dict())))


if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=work, args=(i, queue), name=f"trainer{i}") for i in range(2)]
    for worker in workers:
        worker.start()
    print(sorted(queue.get() for _ in workers))
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])
