#!/usr/bin/env python3
"""How fast tensors get to disk: opdump against `dd oflag=direct` and numpy.save, taking turns on the same disk.

Usage: bench/write_vs_dd.py [--dir DIRECTORY] [--count N] [--mib M] [--rounds R] [--build build/release]
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def dd(directory, count, mib):
    begin = time.perf_counter()
    subprocess.run(["dd", "if=/dev/zero", f"of={directory}/dd", "bs=4M", f"count={count * mib // 4}", "oflag=direct"],
                   check=True, capture_output=True)
    return count * mib * 2**20 / (time.perf_counter() - begin) / 1e9


def numpy_save(directory, count, mib):
    array = np.full(mib * 2**18, 1.5, dtype=np.float32)
    begin = time.perf_counter()
    for i in range(count):
        np.save(f"{directory}/{i}.npy", array)
    return count * mib * 2**20 / (time.perf_counter() - begin) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()

    def opdump(directory, count, mib):
        run = subprocess.run([args.build / "bin/write_bench", directory, str(count), str(mib), "1"], check=True,
                             capture_output=True, text=True)
        return float(run.stdout)

    writers = {"opdump": opdump, "dd oflag=direct": dd, "numpy.save": numpy_save}
    speeds = {name: [] for name in writers}
    for _ in range(args.rounds):
        for name, write in writers.items():
            with tempfile.TemporaryDirectory(dir=args.dir) as directory:
                speeds[name].append(write(directory, args.count, args.mib))
                shutil.rmtree(directory, ignore_errors=True)
                os.makedirs(directory)
            os.sync()
    ours = statistics.median(speeds["opdump"])
    for name, values in speeds.items():
        middle = statistics.median(values)
        print(f"{args.count} x {args.mib} MiB  {name:16} {middle:6.2f} GB/s   opdump is {ours / middle:5.2f} x")


if __name__ == "__main__":
    main()
