#!/usr/bin/env python3
"""Two dumps compared with the ten metrics of msaccucmp: opdump against the original's algorithm written with NumPy, taking
turns on the same files, from start to the written table.

Usage: bench/compare_vs_numpy.py [--dir DIRECTORY] [--mib M] [--rounds R] [--large-gib G] [--build build/release]

The original loads the model, finds the files of each operator by their names, reads a dump file and a .npy whole, makes
arrays of them, flattens them and computes each metric by itself. Here it is given the place of the payload, so that parsing
the header costs it nothing, it writes no log, and it needs no start of Python.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/msaccucmp"))
from conftest import dims, dump_file, field, tensor
from make_network import operator
from metrics_vs_numpy import numpy_metrics

np.seterr(divide="ignore")  # of relative errors, which are then left out where they mean nothing
FLOAT, ND = 1, 2
WITHOUT_DIVERGENCE = "0,1,2,3,5,6,7,8,9"


def write_pair(root, i, count):
    generator = np.random.default_rng(i)
    golden = generator.standard_normal(count, dtype=np.float32)
    mine = golden + np.float32(1e-3) * generator.standard_normal(count, dtype=np.float32)
    np.save(root / f"golden/op{i}.0.1700000000000000.npy", golden)
    for side, array in (("my", mine), ("npu", golden)):
        dump_file(root / side / f"Relu.op{i}.1.2.{1700000000000000 + i}", [tensor(FLOAT, ND, (count,), array.tobytes())],
                  name=f"op{i}")


def write_large(root, count):
    """Tensors that are never in memory: files with holes, and some values at their ends."""
    ends = np.arange(1, 1025, dtype=np.float32)
    header = field(1, b"2.0") + field(2, 1) + field(6, b"op0")
    header += field(3, field(1, FLOAT) + field(2, ND) + field(3, dims((count,))) + field(6, count * 4))
    for side in ("my", "npu"):
        with open(root / side / "Relu.op0.1.2.1700000000000000", "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + ends.tobytes())
            file.truncate(8 + len(header) + count * 4)
    golden = np.lib.format.open_memmap(root / "golden/op0.0.1700000000000000.npy", "w+", np.float32, (count,))
    golden[:1024] = ends + 1
    del golden


def make(root, counts, large=False):
    for side in ("my", "npu", "golden"):
        (root / side).mkdir(parents=True)
    for i, count in enumerate(counts):
        write_large(root, count) if large else write_pair(root, i, count)
    ops = [operator(f"op{i}", "Relu", i + 1, []) for i in range(len(counts))]
    (root / "model.json").write_text(json.dumps({"name": "net", "graph": [{"name": "net", "op": ops}]}))
    return root


NAMES = {"my": re.compile(r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[0-9]+(?:\.[0-9]+)?\.[0-9]{1,255}"),
         "golden": re.compile(r"([.A-Za-z0-9_-]+)\.[0-9]+\.[0-9]{1,255}\.npy")}


def numpy_way(root, divergence):
    files = {side: {pattern.match(file.name)[1]: file for file in sorted((root / side).iterdir())}
             for side, pattern in NAMES.items()}
    rows = []
    for op in json.loads((root / "model.json").read_text())["graph"][0]["op"]:
        content = files["my"][op["name"]].read_bytes()
        [header] = struct.unpack_from("<Q", content)
        mine = np.frombuffer(content, np.float32, offset=8 + header)
        golden = np.load(files["golden"][op["name"]])
        rows.append([op["name"], *numpy_metrics(mine.flatten(), golden.flatten(), divergence)])
    (root / "numpy.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))


def started(words, cores=None):
    return subprocess.Popen([*(["taskset", "-c", "0"] if cores == 1 else []), *map(str, words)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def seconds(words, root, cores=None):
    shutil.rmtree(root / "out", ignore_errors=True)  # a result that takes another's place is written to the disk at once
    begin = time.perf_counter()
    assert started(words, cores).wait() in (0, 1), words
    return time.perf_counter() - begin


def peak(words):
    """The largest resident memory in MiB."""
    process = started(words)
    most = 0  # ru_maxrss would be that of this program, of which the other begins as a copy
    while process.poll() is None:
        memory = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        most = max([most, *(int(line.split()[1]) / 1024 for line in memory.splitlines() if "VmHWM" in line)])
        time.sleep(0.001)
    return most


def programs(opdump, root):
    out = root / "out"
    msaccucmp = [opdump, "msaccucmp", "compare", "-m", root / "my", "-g", root / "golden", "-f", root / "model.json", "-out", out]
    return {"msaccucmp compare": msaccucmp, "  without divergence": [*msaccucmp, "-alg", WITHOUT_DIVERGENCE],
            "opdump compare": [opdump, "compare", root / "npu", root / "my"]}


def show(opdump, root, label, rounds):
    size = sum(file.stat().st_size for side in ("my", "golden") for file in (root / side).iterdir())
    print(f"{label}: {size / 2**20:.0f} MiB")
    for name, words in programs(opdump, root).items():
        theirs, ours, alone = [], [], []
        for _ in range(rounds):
            begin = time.perf_counter()
            numpy_way(root, "without" not in name)
            theirs.append(time.perf_counter() - begin)
            ours.append(seconds(words, root))
            alone.append(seconds(words, root, 1))
        print(f"  {name:22} numpy {min(theirs):7.3f} s  opdump {min(ours):7.3f} s ({min(theirs) / min(ours):5.1f} x)  on one core "
              f"{min(alone):7.3f} s ({min(theirs) / min(alone):5.1f} x, {size / min(alone) / 1e9:.2f} GB/s)  {peak(words):4.0f} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir")
    parser.add_argument("--mib", type=int, default=64, help="of a large tensor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large-gib", type=float, default=0, help="also two tensors of this size, never in memory")
    parser.add_argument("--build", default=ROOT / "build/release")
    arguments = parser.parse_args()
    opdump = pathlib.Path(arguments.build).resolve() / "bin/opdump"
    root = pathlib.Path(tempfile.mkdtemp(dir=arguments.dir))
    try:
        show(opdump, make(root / "few", [arguments.mib << 18] * 4), "4 large tensors", arguments.rounds)
        for count, kib in ((200, 256), (2000, 16), (20000, 1)):
            show(opdump, make(root / f"{count}", [kib << 8] * count), f"{count} tensors of {kib} KiB", arguments.rounds)
        if arguments.large_gib:
            shutil.rmtree(root / "few")
            large = make(root / "large", [int(arguments.large_gib * 2**28)], large=True)
            print(f"two tensors of {arguments.large_gib} GiB")
            for name, words in programs(opdump, large).items():
                print(f"  {name:22} {seconds(words, large):7.1f} s  {peak(words):4.0f} MiB resident")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
