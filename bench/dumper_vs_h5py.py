#!/usr/bin/env python3
"""How fast opdump.dumper writes a training step of AlexNet: against h5py, which writes the same datasets from arrays that
lie ready, one after the other. They take turns on the same disk.

Usage: bench/dumper_vs_h5py.py [--dir DIRECTORY] [--batch N] [--rounds R] [--build build/release]
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make_step(batch):
    import torch
    import torchvision

    torch.manual_seed(0)
    model = torchvision.models.alexnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def read(path):
    """[(name, array or dtype and shape of a dataset without data, attributes)]"""
    found = []

    def add(name, item):
        if isinstance(item, h5py.Dataset):
            found.append((name, item[()] if item.id.get_storage_size() else item, dict(item.attrs)))

    with h5py.File(path) as file:
        file.visititems(add)
        return [(n, np.array(a) if isinstance(a, h5py.Dataset) else a, attrs) for n, a, attrs in found]


def write_with_h5py(path, datasets):
    with h5py.File(path, "w") as file:
        for name, array, attributes in datasets:
            dataset = file.create_dataset(name, data=array)
            for attribute, value in attributes.items():
                dataset.attrs[attribute] = value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()
    sys.path.insert(0, str(args.build / "python"))
    from opdump.dumper import dumper

    step = make_step(args.batch)
    step()  # buffers of the optimizer

    def dump():
        with dumper(use_dump=True, dump_path=path):
            step()

    times = {"step": [], "dump": [], "h5py": []}
    with tempfile.TemporaryDirectory(dir=args.dir) as directory:
        path, other = f"{directory}/a.h5", f"{directory}/b.h5"
        sys.stdout.flush()
        console = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        dump()
        datasets = read(path)
        size = os.path.getsize(path)
        for _ in range(args.rounds):
            times["step"].append(seconds(step))
            for name, call in (("dump", dump), ("h5py", lambda: write_with_h5py(other, datasets))):
                times[name].append(seconds(call))
                os.remove(path if name == "dump" else other)
                os.sync()
        os.dup2(console, 1)
    plain, dumped, theirs = (statistics.median(times[name]) for name in ("step", "dump", "h5py"))
    print(f"{len(datasets)} datasets, {size / 1e9:.2f} GB; step alone {plain:.2f} s, dumped {dumped:.2f} s, h5py {theirs:.2f} s")
    print(f"h5py / dump: {theirs / dumped:.2f} with the step, {theirs / (dumped - plain):.2f} without")


if __name__ == "__main__":
    main()
