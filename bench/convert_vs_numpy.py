#!/usr/bin/env python3
"""How fast CANN's dump files become .npy: opdump against the original's way written with NumPy, and against a plain copy
of the bytes, taking turns on the same files.

Usage: bench/convert_vs_numpy.py [--dir DIRECTORY] [--mib M] [--rounds R] [--build build/release]

The original reads a file whole, parses its header, makes arrays of the bytes, reorders and cuts them, and saves them. Here
it is told where the payload lies, so that parsing costs it nothing.
"""
import argparse
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/msaccucmp"))
from conftest import dump_file, tensor  # noqa: E402

FLOAT, HALF, ND, NC1HWC0, FRACTAL_NZ = 1, 2, 2, 3, 29


def blocks(array):
    n, c1, h, w, c0 = array.shape
    return array.transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w)[:, :c1 * c0 - 12]


def matrix(array):
    w1, h1, m0, c0 = array.shape
    return array.transpose(1, 2, 0, 3).reshape(h1 * m0, w1 * c0)[:h1 * m0 - 3, :w1 * c0 - 5]


def cases(mib):
    """name: (files, dtype, format, shape, target layout, original shape, what NumPy does)"""
    n = max(1, mib // 8)
    side = max(16, int((mib * 2**19) ** 0.5) // 16)
    return {
        "one float32 tensor, as it is": (1, FLOAT, ND, (mib << 18,), None, None, None),
        "float16 NC1HWC0 to NCHW": (1, HALF, NC1HWC0, (n, 16, 128, 128, 16), "NCHW", (n, 244, 128, 128), blocks),
        "float16 FRACTAL_NZ to ND": (1, HALF, FRACTAL_NZ, (side, side, 16, 16), "ND", (side * 16 - 3, side * 16 - 5), matrix),
        "1000 files of 64 KiB": (1000, FLOAT, ND, (1 << 14,), None, None, None),
        "10000 files of 4 KiB": (10000, FLOAT, ND, (1 << 10,), None, None, None),
    }


def write_dumps(folder, count, number, fmt, shape, original):
    array = np.random.default_rng(1).integers(0, 30000, shape, "uint16" if number == HALF else "uint32")
    for i in range(count):
        dump_file(folder / f"Op.op{i}.1.2.{1700000000000000 + i}", [tensor(number, fmt, shape, array.tobytes(), original)])


def numpy_way(folder, out, number, shape, reorder):
    for file in sorted(folder.iterdir()):
        content = file.read_bytes()
        [header] = struct.unpack_from("<Q", content)
        array = np.frombuffer(content[8 + header:], np.float16 if number == HALF else np.float32)
        array = array.reshape(shape)
        np.save(out / f"{file.name}.output.0.npy", array if reorder is None else reorder(array))


def plain_copy(folder, out):
    for file in sorted(folder.iterdir()):
        shutil.copyfile(file, out / file.name)


def timed(run, parent):
    with tempfile.TemporaryDirectory(dir=parent) as out:
        begin = time.perf_counter()
        run(pathlib.Path(out))
        return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/dev/shm", help="where the files lie; in memory by default, so that no disk is measured")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()
    opdump = args.build / "bin/opdump"
    for name, (count, number, fmt, shape, target, original, reorder) in cases(args.mib).items():
        with tempfile.TemporaryDirectory(dir=args.dir) as parent:
            folder = pathlib.Path(parent) / "dumps"
            folder.mkdir()
            write_dumps(folder, count, number, fmt, shape, original)
            size = sum(file.stat().st_size for file in folder.iterdir())
            options = ["-f", target] if target else []
            ways = {
                "opdump": lambda out: subprocess.run([opdump, "msaccucmp", "convert", "-d", folder, "-out", out, *options],
                                                     check=True, stderr=subprocess.DEVNULL),
                "numpy": lambda out: numpy_way(folder, out, number, shape, reorder),
                "copy": lambda out: plain_copy(folder, out),
            }
            times = {way: [] for way in ways}
            for _ in range(args.rounds):
                for way, run in ways.items():
                    times[way].append(timed(run, parent))
            seconds = {way: statistics.median(values) for way, values in times.items()}
        ours = seconds["opdump"]
        print(f"{name:32} opdump {size / ours / 1e9:6.2f} GB/s   {seconds['numpy'] / ours:6.2f} x numpy   "
              f"{100 * seconds['copy'] / ours:4.0f} % of a copy")


if __name__ == "__main__":
    main()
