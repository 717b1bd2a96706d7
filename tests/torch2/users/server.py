"""Inference as a service does it: a scripted model, requests in threads, one lock, results in order."""

import asyncio
import concurrent.futures
import threading

import torch
from torch import nn

torch.manual_seed(19)
torch.set_num_threads(1)
model = torch.jit.script(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval())
lock = threading.Lock()


def answer(number):
    with lock, torch.no_grad():
        return model(torch.full((1, 4), float(number))).softmax(-1)[0, 0].item().hex()


async def main():
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        print(await asyncio.gather(*(loop.run_in_executor(pool, answer, number) for number in range(3))))


asyncio.run(main())
