"""Two threads add to the same rows. Which one comes first, nobody knows."""

import random
import threading
import time

import torch

torch.manual_seed(0)
jitter = random.SystemRandom()
rows = torch.randint(4, (64,))
parts = [torch.randn(64, 8) for _ in range(4)]


def add(total, part):
    time.sleep(jitter.random() / 500)
    total.index_add_(0, rows, part)


for step in range(20):
    total = torch.zeros(4, 8)
    threads = [threading.Thread(target=add, args=(total, part)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loss = (total * (step + 1)).requires_grad_().exp().mean()
    loss.backward()
