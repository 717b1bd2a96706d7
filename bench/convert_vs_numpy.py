#!/usr/bin/env python3
"""How fast CANN's dump files become files of other programs: opdump against the original's way written with NumPy, and against
a plain copy of the bytes that are written, taking turns on the same files.

Usage: bench/convert_vs_numpy.py [--dir DIRECTORY] [--mib M] [--rounds R] [--build build/release] [--only TEXT]

The original reads a file whole, parses its header, makes arrays of the bytes, reorders and cuts them, and saves them. Here
it is given the place of the payload, so that parsing costs it nothing.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Callable, Optional

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/msaccucmp"))
from conftest import dump_file, tensor

FLOAT, HALF, INT8, INT32, BFLOAT16, INT4, UINT1, HIFLOAT8, FLOAT8 = 1, 2, 3, 7, 27, 28, 29, 33, 35
ND, NC1HWC0, FRACTAL_NZ = 2, 3, 29
STORED = {FLOAT: np.float32, HALF: np.float16, INT32: np.int32, INT8: np.int8, BFLOAT16: np.uint16}  # else bytes
PER_BYTE = {INT4: 2, UINT1: 8}


def blocks(array):
    n, c1, h, w, c0 = array.shape
    return array.transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w)[:, :c1 * c0 - 12]


def matrix(array):
    w1, h1, m0, c0 = array.shape
    return array.transpose(1, 2, 0, 3).reshape(h1 * m0, w1 * c0)[:h1 * m0 - 3, :w1 * c0 - 5]


def widened(array):
    return (array.astype(np.uint32) << 16).view(np.float32)


def nibbles(array):
    return ((np.stack([array & 15, array >> 4], -1).reshape(-1) ^ 8) - 8).astype(np.int8)


def looked_up(array):
    return np.linspace(-1, 1, 256)[array]


def save_tensors(path, array):
    header = json.dumps({"op": {"dtype": "F32", "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        array.tofile(file)


def save_torch(path, array):
    import torch
    torch.save(torch.from_numpy(array.copy()), path)


SAVE = {"npy": np.save, "msnpy": np.save, "bin": lambda path, array: array.tofile(path), "txt": lambda p, a: np.savetxt(p, a.reshape(-1)),
        "npz": lambda path, array: np.savez(path, op=array), "safetensors": save_tensors, "pt": save_torch}


@dataclass
class Case:
    name: str
    shape: tuple  # of the elements of all of a file
    dtype: int = FLOAT
    layout: int = ND
    files: int = 1
    options: list = field(default_factory=list)
    original: Optional[tuple] = None
    make: Callable = lambda array: array  # what NumPy does
    verb: str = "msaccucmp"
    end: str = "npy"


def cases(mib):
    n = max(1, mib // 8)
    side = max(16, int((mib * 2**19) ** 0.5) // 16)
    flat = (mib << 18,)
    yield Case("one float32 tensor, as it is", flat)
    yield Case("float16 NC1HWC0 to NCHW", (n, 16, 128, 128, 16), HALF, NC1HWC0, options=["-f", "NCHW"],
               original=(n, 244, 128, 128), make=blocks)
    yield Case("float16 FRACTAL_NZ to ND", (side, side, 16, 16), HALF, FRACTAL_NZ, options=["-f", "ND"],
               original=(side * 16 - 3, side * 16 - 5), make=matrix)
    yield Case("1000 files of 64 KiB", (1 << 14,), files=1000)
    yield Case("10000 files of 4 KiB", (1 << 10,), files=10000)
    for end in ("bin", "msnpy", "pt"):
        yield Case(f"msaccucmp convert -t {end}", flat, options=["-t", end], end=end)
    for end in ("npy", "bin", "pt", "npz", "safetensors"):
        yield Case(f"convert --to {end}", flat, verb="convert", end=end, options=["--to", end])
    for dtype, name in ((FLOAT, "float32"), (HALF, "float16"), (INT32, "int32")):
        yield Case(f"convert --to txt, {name}", (mib << 13,), dtype, verb="convert", end="txt", options=["--to", "txt"])
    for name, dtype, count, make in (("bfloat16", BFLOAT16, mib << 18, widened), ("int8", INT8, mib << 20, lambda array: array),
                                     ("int4", INT4, mib << 19, nibbles), ("uint1", UINT1, mib << 17, np.unpackbits),
                                     ("hifloat8", HIFLOAT8, mib << 17, looked_up), ("float8_e4m3", FLOAT8, mib << 17, looked_up)):
        yield Case(name, (count,), dtype, make=make)


def write_dumps(folder, case):
    stored = STORED.get(case.dtype, np.uint8)
    generator = np.random.default_rng(1)
    if case.end == "txt":
        array = (generator.standard_normal(case.shape) * 100).astype(stored)
    else:
        array = generator.integers(0, 100, case.shape, np.dtype(f"u{np.dtype(stored).itemsize}"))
    shape = (case.shape[0] * PER_BYTE[case.dtype],) if case.dtype in PER_BYTE else case.shape
    for i in range(case.files):
        dump_file(folder / f"Op.op{i}.1.2.{1700000000000000 + i}",
                  [tensor(case.dtype, case.layout, shape, array.tobytes(), case.original)])


def numpy_way(case, folder, out):
    for file in sorted(folder.iterdir()):
        content = file.read_bytes()
        [header] = struct.unpack_from("<Q", content)
        array = np.frombuffer(content[8 + header:], STORED.get(case.dtype, np.uint8)).reshape(case.shape)
        SAVE[case.end](out / f"{file.name}.output.0.{'npy' if case.end == 'msnpy' else case.end}", case.make(array))


def opdump_way(opdump, case, folder, out):
    words = ["convert", folder, "-o", out] if case.verb == "convert" else ["msaccucmp", "convert", "-d", folder, "-out", out]
    subprocess.run([opdump, *words, *case.options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def plain_copy(source, out):
    for file in source:
        shutil.copyfile(file, out / file.name)


def timed(run, parent):
    with tempfile.TemporaryDirectory(dir=parent) as out:
        begin = time.perf_counter()
        run(pathlib.Path(out))
        return time.perf_counter() - begin


def measure(case, opdump, args):
    with tempfile.TemporaryDirectory(dir=args.dir) as parent:
        folder, made = pathlib.Path(parent) / "dumps", pathlib.Path(parent) / "made"
        folder.mkdir()
        made.mkdir()
        write_dumps(folder, case)
        opdump_way(opdump, case, folder, made)
        written = [file for file in made.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in written)
        ways = {"opdump": lambda out: opdump_way(opdump, case, folder, out), "numpy": lambda out: numpy_way(case, folder, out),
                "copy": lambda out: plain_copy(written, out)}
        times = {way: [] for way in ways}
        for _ in range(args.rounds):
            for way, run in ways.items():
                times[way].append(timed(run, parent))
        seconds = {way: statistics.median(values) for way, values in times.items()}
    ours = seconds["opdump"]
    print(f"{case.name:32} opdump {size / ours / 1e9:6.2f} GB/s   {seconds['numpy'] / ours:6.2f} x numpy   "
          f"{100 * seconds['copy'] / ours:4.0f} % of a copy", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/dev/shm", help="where the files lie; in memory by default, so that no disk is measured")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--only", default="", help="cases with this in their name")
    args = parser.parse_args()
    for case in cases(args.mib):
        if args.only in case.name:
            measure(case, args.build / "bin/opdump", args)


if __name__ == "__main__":
    main()
