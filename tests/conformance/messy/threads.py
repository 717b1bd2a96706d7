"""A model that is run by several threads at once; threads that end while others run."""

import threading
import torch
from printed import *

torch.manual_seed(0)
results = {}


def infer(number, model):
    x = torch.full((2, 4), float(number), requires_grad=True)
    for _ in range(3):
        out = model(x).square().sum()
        out.backward()
    results[number] = digest([out, x.grad])


def fail():
    raise ValueError("of a thread")


with watched():
    models = [Net().eval() for _ in range(4)]
    workers = [threading.Thread(target=infer, args=item, name=f"w{item[0]}") for item in enumerate(models)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    show("results", sorted(results.items()), models[0], threading.active_count())
    threading.excepthook = lambda args: show("hook", args.exc_type.__name__, str(args.exc_value))
    failing = threading.Thread(target=fail)
    failing.start()
    failing.join()
    show("name", threading.Thread._bootstrap_inner.__name__, failing.is_alive())
show_state()
