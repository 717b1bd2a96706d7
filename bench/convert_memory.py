#!/usr/bin/env python3
"""How much memory `opdump msaccucmp convert` needs at most for one large tensor, for each change of layout that it makes.

Usage: bench/convert_memory.py [--dir DIRECTORY] [--mib M] [--limit M] [--build build/release]

The dump is a sparse file, so that only what is written needs room in DIRECTORY. Exits with 1 if a conversion needs more than
--limit MiB.
"""
import argparse
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/msaccucmp"))
from conftest import field, tensor  # noqa: E402

NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, HWCN, FRACTAL_NZ, NDC1HWC0 = 0, 1, 2, 3, 4, 16, 29, 32
HALF, BFLOAT16 = 2, 27


def cases(count):
    """(layout, stored shape, original shape, targets) of about `count` elements"""
    n = count // (512 * 9)
    plain = n // 512 * 512
    return [
        (NC1HWC0, (count // (16 * 128 * 128 * 16), 16, 128, 128, 16), None, ["NCHW", "NHWC", "HWCN"]),
        (NC1HWC0, (1, 2, 1024, count // (32 * 1024), 16), None, ["NCHW", "NHWC", "HWCN"]),
        (FRACTAL_Z, (32 * 9, n // 16, 16, 16), (n // 16 * 16, 512, 3, 3), ["NCHW"]),
        (FRACTAL_Z, (32 * 9, n // 16, 16, 16), (3, 3, 512, n // 16 * 16), ["HWCN"]),
        (FRACTAL_NZ, (256, count // 65536, 16, 16), (count // 4096, 4096), ["ND"]),
        (FRACTAL_NZ, (count // 65536, 256, 16, 16), (4096, count // 4096), ["ND"]),
        (NDC1HWC0, (count // (4 * 8 * 64 * 64 * 16), 4, 8, 64, 64, 16), None, ["NCDHW"]),
        (HWCN, (3, 3, 512, plain), None, ["NCHW", "NHWC", "FRACTAL_Z"]),
        (NCHW, (plain, 512, 3, 3), None, ["NHWC", "FRACTAL_Z"]),
        (NHWC, (plain, 3, 3, 512), None, ["NCHW", "HWCN", "FRACTAL_Z"]),
    ]


def write_sparse(path, dtype, layout, shape, original):
    size = 2
    for extent in shape:
        size *= extent
    text, _ = tensor(dtype, layout, shape, range(size), original)
    header = field(1, b"2.0") + field(3, text)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)


def peak_mib(command):
    """The most memory that the command had at a time, and how long it took."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_maxrss >> 10, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--limit", type=int, default=512)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()
    worst = 0
    for dtype in (HALF, BFLOAT16):
        for layout, shape, original, targets in cases(args.mib << 19):
            for target in targets if dtype == HALF else targets[:1]:
                with tempfile.TemporaryDirectory(dir=args.dir) as folder:
                    dump = pathlib.Path(folder) / "Op.op.1.2.1700000000000000"
                    write_sparse(dump, dtype, layout, shape, original)
                    out = pathlib.Path(folder) / "out"
                    peak, seconds = peak_mib([args.build / "bin/opdump", "msaccucmp", "convert", "-d", dump, "-out", out, "-f", target])
                    assert len(list(out.iterdir())) == 1
                worst = max(worst, peak)
                print(f"{'bf16' if dtype == BFLOAT16 else 'f16 '} {layout:3} {'x'.join(map(str, shape)):28} to {target:10} "
                      f"{peak:5} MiB {seconds:6.1f} s", flush=True)
    print(f"at most {worst} MiB for {args.mib} MiB")
    return worst > args.limit


if __name__ == "__main__":
    sys.exit(main())
