"""Batches come from a pool of processes, in the order in which they are done."""

import multiprocessing
import random
import time

import numpy
import torch


def load(number):
    time.sleep(random.SystemRandom().random() / 100)
    return numpy.random.RandomState(number).rand(8, 16).astype("float32")


if __name__ == "__main__":
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        for batch in pool.imap_unordered(load, range(40)):
            optimizer.zero_grad()
            net(torch.from_numpy(batch)).square().mean().backward()
            optimizer.step()
