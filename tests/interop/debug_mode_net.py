"""A small network that is trained for two steps, as it is or with its log of DebugMode saved.

Usage: debug_mode_net.py [LOG] [--wrong] [--modules] [--inputs] [--both] [--stacks] [--calls] [--no-hashes] [+ LOG ...]
Between "+" is what a process of its own does, so that torch is imported once."""
import contextlib
import os
import sys

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        return functional.relu(self.norm(self.conv(x)) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3)
        self.blocks = nn.Sequential(Block(), Block())
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(4 * 6 * 6, 4)

    def forward(self, images):
        return self.head(self.drop(self.blocks(self.stem(images)).flatten(1)))


def train(model, optimizer):
    for step in range(2):
        images = torch.cos(torch.arange(5 * 64, dtype=torch.float32) * (0.3 + 0.1 * step)).reshape(5, 1, 8, 8)
        loss = functional.cross_entropy(model(images), torch.arange(5) % 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()  # after the last step


def main(words):
    logs = [word for word in words if not word.startswith("--")]
    torch.manual_seed(1)
    model = Net()
    if "--wrong" in words:
        model.blocks[1].norm.eps = 0.3
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if not logs:
        train(model, optimizer)
        return
    from torch.utils._debug_mode import DebugMode

    mode = DebugMode(record_nn_module="--modules" in words, record_stack_trace="--stacks" in words,
                     record_torchfunction="--calls" in words, record_ids="--calls" in words)
    hashes = DebugMode.log_tensor_hashes(hash_fn=["norm", "hash_tensor"] if "--both" in words else "norm",
                                         hash_inputs="--inputs" in words)
    with mode, contextlib.nullcontext() if "--no-hashes" in words else hashes:
        train(model, optimizer)
    DebugMode.save_logs(mode.logs, logs[0])


def main_of_each(words):
    if "+" not in words:
        return main(words)
    for own in " ".join(words).split(" + "):
        child = os.fork()
        if child == 0:
            main(own.split(" "))
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f"{own} failed")


if __name__ == "__main__":
    main_of_each(sys.argv[1:])
