#!/usr/bin/env python3
"""How much memory opdump needs at most for one large tensor, for each kind of file that it reads and each verb; and for many files.

Usage: bench/memory.py [--dir DIRECTORY] [--mib M] [--files N] [--limit M] [--build build/release] [--only TEXT]

The files are sparse or compress well; what is written needs room in DIRECTORY and, where elements are unpacked or brought into
another order, in TMPDIR (/var/tmp if it is not set). What this script itself has counts, too, up to the first page that a command
touches: some 45 MiB. Exits with 1 if a command needs more than --limit MiB, or fails. convert_memory.py has all changes of layout.
"""
import argparse
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/msaccucmp"))
from conftest import dims, field, varint  # noqa: E402
from make_network import operator  # noqa: E402

STEP = 4 << 20  # bytes that are compressed at a time
FLOAT, HALF, ND, NC1HWC0, FRACTAL_Z, FRACTAL_NZ = 1, 2, 2, 3, 4, 29
BFLOAT16, INT4, UINT1, HIFLOAT8 = 27, 28, 29, 33


def start_of(side):
    """The first elements, which differ between the sides: equal tensors are not measured."""
    return bytes([1 if side == "golden" else 2, 60] * 64)


def npy_header(dtype, shape, fortran=False):
    text = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()


def sparse(path, header, size, side):
    with open(path, "wb") as file:
        file.write(header + start_of(side))
        file.truncate(len(header) + size)


def npy(folder, side, size, fortran=False):
    sparse(folder / "op.npy", npy_header("<f4", (4096, size // 16384), fortran), size, side)


def npz(folder, side, size):
    """numpy.savez_compressed, but that the zeros are compressed once."""
    header = npy_header("<f4", (4096, size // 16384))
    whole = len(header) + size
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(header + start_of(side) + bytes(STEP - 128)) + packer.flush(zlib.Z_FULL_FLUSH)
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    block = packer.compress(bytes(STEP)) + packer.flush(zlib.Z_FULL_FLUSH)
    body += block * (size // STEP - 1) + zlib.compressobj(6, zlib.DEFLATED, -15).flush()
    name = b"op.npy"
    facts = struct.pack("<5H3I2H", 45, 0, 8, 0, 33, 0, len(body), whole, len(name), 0)
    entry = struct.pack("<IH", 0x02014b50, 45) + facts + struct.pack("<3H2I", 0, 0, 0, 0, 0) + name
    with open(folder / "op.npz", "wb") as file:
        file.write(struct.pack("<I", 0x04034b50) + facts + name + body)
        file.write(entry + struct.pack("<I4H2IH", 0x06054b50, 0, 0, 1, 1, len(entry), 30 + len(name) + len(body), 0))


def h5(folder, side, size, **more):
    import h5py
    rows = size // 16384
    dtype = more.pop("dtype", "<f4")
    with h5py.File(folder / "op.h5", "w") as file:
        data = file.create_dataset("/add_Tensor/1/output/result", (rows, 4096), dtype, **more)
        data.attrs.update({"DeviceType": np.int32(10 if side == "actual" else 0), "DataType": np.int32(1),
                           "FormatType": np.int32(0), "Type": np.int32(0), "Stride": np.array([4096, 1], np.int64)})
        for row in range(0, rows, 256):
            data[row:row + 256] = np.zeros((min(256, rows - row), 4096), dtype)
        data[0, :64] = 1 if side == "golden" else 2


def message(tensors, version=b"2.0"):
    return field(1, version) + field(2, 1700000000000000) + field(6, b"op") + b"".join(field(3, text) for text in tensors)


def described(dtype, layout, shape, size, original):
    return field(1, dtype) + field(2, layout) + field(3, dims(shape)) + field(6, size) + (
        field(7, dims(original)) if original else b"")


def dump(folder, side, size, dtype=FLOAT, layout=ND, shape=None, original=None, offset=0):
    """A dump file of version 2; `offset` moves its elements away from where they are aligned."""
    bits = {FLOAT: 32, HALF: 16, BFLOAT16: 16, INT4: 4, UINT1: 1, HIFLOAT8: 8}[dtype]
    header = message([described(dtype, layout, shape or (4096, size // 512 // bits), size, original)])
    padding = next(n for n in range(8) if (8 + len(header) + 3 + n) % 8 == offset)
    header += field(16, bytes(padding))  # which nobody knows
    sparse(folder / "Op.op.1.2.1700000000000000", struct.pack("<Q", len(header)) + header, size, side)


def dump1(folder, side, size):
    """A dump file of version 1: a message with the elements inside."""
    inside = described(FLOAT, ND, (4096, size // 16384), size, None) + varint(5 << 3 | 2) + varint(size)
    header = message([], b"1.0") + varint(3 << 3 | 2) + varint(len(inside) + size) + inside
    sparse(folder / "Op.op.1.2.1700000000000000", header, size, side)


def onnx(folder, side, size, raw=True):
    place = folder / "test_data_set_0"
    place.mkdir()
    header = field(1, 4096) + field(1, size // 16384) + field(2, 1) + field(8, b"op")
    header += varint((9 if raw else 4) << 3 | 2) + varint(size)
    sparse(place / "output_0.pb", header, size, side)


def golden_npy(folder, shape):
    size = 4
    for extent in shape:
        size *= extent
    sparse(folder / "op.0.1700000000000000.npy", npy_header("<f4", tuple(shape)), size, "golden")


KINDS = {
    "npy": npy,
    "npy, by columns": lambda *a: npy(*a, True),
    "npz, compressed": npz,
    "h5": h5,
    "h5, compressed": lambda *a: h5(*a, chunks=(128, 512), compression="gzip", compression_opts=1),
    "h5, high chunks": lambda *a: h5(*a, chunks=(4096, 16), compression="gzip", compression_opts=1),
    "h5, big endian": lambda *a: h5(*a, dtype=">f4"),
    "dump": dump,
    "dump, misaligned": lambda *a: dump(*a, offset=3),
    "dump, float16": lambda *a: dump(*a, dtype=HALF),
    "dump, bfloat16": lambda *a: dump(*a, dtype=BFLOAT16),
    "dump, hifloat8": lambda *a: dump(*a, dtype=HIFLOAT8),
    "dump, int4": lambda *a: dump(*a, dtype=INT4),
    "dump, uint1": lambda *a: dump(*a, dtype=UINT1),
    "dump, version 1": dump1,
    "ONNX, raw": onnx,
    "ONNX, numbers": lambda *a: onnx(*a, False),
}
SMALLER = {"dump, int4": 8, "dump, uint1": 16, "dump, hifloat8": 4, "ONNX, raw": 2, "ONNX, numbers": 2, "dump, version 1": 2}


def peak_mib(command):
    """The most memory that the command or a child of it had at a time, how long it took, and its exit status."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: a difference
        print(said[-2000:], file=sys.stderr)
    return usage.ru_maxrss >> 10, time.perf_counter() - begin, process.returncode


class Bench:
    def __init__(self, args):
        self.args, self.worst, self.failed = args, 0, False
        self.opdump = args.build / "bin/opdump"

    def is_wanted(self, text):
        return not self.args.only or self.args.only in text

    def row(self, kind, verb, *command):
        if not self.is_wanted(f"{kind}: {verb}"):
            return
        peak, seconds, status = peak_mib([self.opdump, *command])
        self.worst = max(self.worst, peak)
        self.failed |= status not in (0, 1)
        print(f"{kind:20} {verb:28} {peak:5} MiB {seconds:6.1f} s", flush=True)

    def kind(self, name, make):
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            size = (self.args.mib << 20) // SMALLER.get(name, 1)
            for side in ("golden", "actual"):
                (root / side).mkdir()
                make(root / side, side, size)
            golden, actual = root / "golden", root / "actual"
            self.row(name, "ls", "ls", golden)
            self.row(name, "show", "show", golden, "--op", "")
            self.row(name, "compare", "compare", golden, actual)
            ends = ["npy", "bin", "pt", "npz", "safetensors"] if name == "npy" else ["npy"]
            for end in ends:
                self.row(name, f"convert --to {end}", "convert", golden, "-o", root / "out", "--to", end)
                shutil.rmtree(root / "out", ignore_errors=True)
            if name.startswith("dump"):
                (root / "out").mkdir()
                self.row(name, "msaccucmp convert", "msaccucmp", "convert", "-d", golden, "-out", root / "out")
                self.row(name, "msaccucmp compare", "msaccucmp", "compare", "-m", actual, "-g", golden, "-out", root / "out")
            if name.startswith("h5"):
                (root / "out").mkdir()
                self.row(name, "msaccucmp compare", "msaccucmp", "compare", "-m", actual / "op.h5", "-g", golden / "op.h5",
                         "-out", root / "out", "-p", "1")

    def layout(self, name, dtype, layout, stored, original, target="NCHW"):
        """A dump in one layout against an array of the original model in another."""
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            for side in ("my", "golden", "out"):
                (root / side).mkdir()
            size = int(np.prod(stored)) * (2 if dtype == HALF else 4)
            dump(root / "my", "actual", size, dtype, layout, stored, original)
            golden_npy(root / "golden", original)
            one = operator("op", "Op", 1, [])
            one["output_desc"][0]["attr"][2]["value"]["s"] = target
            rules = root / "model.json"
            rules.write_text(json.dumps({"name": "net", "graph": [{"name": "net", "op": [one]}]}))
            sides = ["-m", root / "my", "-g", root / "golden", "-f", rules, "-out", root / "out"]
            self.row(name, "msaccucmp compare", "msaccucmp", "compare", *sides)
            self.row(name, "msaccucmp compare -overflow", "msaccucmp", "compare", *sides, "-overflow_detection")
            if layout != FRACTAL_Z and layout != FRACTAL_NZ:
                self.row(name, "msaccucmp compare -op", "msaccucmp", "compare", *sides, "-op", "op", "-o", "0",
                         "--ignore_single_op_result")

    def layouts(self):
        count = self.args.mib << 18
        self.layout("ND", FLOAT, ND, (4096, count // 4096), (4096, count // 4096), "ND")
        self.layout("NC1HWC0", FLOAT, NC1HWC0, (count // (16 * 128 * 128 * 16), 16, 128, 128, 16),
                    (count // (16 * 128 * 128 * 16), 256, 128, 128))
        self.layout("NC1HWC0, f16", HALF, NC1HWC0, (count // (16 * 128 * 128 * 16), 16, 128, 128, 16),
                    (count // (16 * 128 * 128 * 16), 250, 128, 128))
        self.layout("FRACTAL_NZ, f16", HALF, FRACTAL_NZ, (256, count // 65536, 16, 16), (count // 4096, 4096), "ND")
        n = count // (512 * 9)
        self.layout("FRACTAL_Z, f16", HALF, FRACTAL_Z, (32 * 9, n // 16, 16, 16), (n // 16 * 16, 512, 3, 3))

    def packed_layouts(self):
        count = self.args.mib << 18
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            (root / "golden").mkdir()
            dump(root / "golden", "golden", count // 2, INT4, NC1HWC0, (count // (16 * 128 * 128 * 16), 16, 128, 128, 16),
                 (count // (16 * 128 * 128 * 16), 256, 128, 128))
            self.row("NC1HWC0, int4", "convert --format NCHW", "convert", root / "golden", "-o", root / "out", "--format", "NCHW")
            (root / "out").mkdir(exist_ok=True)
            self.row("NC1HWC0, int4", "msaccucmp convert -f NCHW", "msaccucmp", "convert", "-d", root / "golden", "-out",
                     root / "out", "-f", "NCHW")

    def many(self):
        """Memory for each file."""
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            header = message([described(FLOAT, ND, (16,), 64, None)])
            content = struct.pack("<Q", len(header)) + header
            for side in ("golden", "actual"):
                (root / side).mkdir()
                for i in range(self.args.files):
                    (root / side / f"Relu.layer_{i}_relu.{i}.2.{1700000000000000 + i}").write_bytes(content + start_of(side)[:64])
            golden, actual = root / "golden", root / "actual"
            name = f"{self.args.files} files"
            (root / "out").mkdir()
            self.row(name, "ls", "ls", golden)
            self.row(name, "compare", "compare", golden, actual)
            self.row(name, "msaccucmp compare", "msaccucmp", "compare", "-m", actual, "-g", golden, "-out", root / "out")
            self.row(name, "msaccucmp convert", "msaccucmp", "convert", "-d", golden, "-out", root / "out")
            self.row(name, "convert --to npz", "convert", golden, "-o", root / "out2", "--to", "npz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--files", type=int, default=200000)
    parser.add_argument("--limit", type=int, default=512)
    parser.add_argument("--only", help="rows with this text")
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()
    bench = Bench(args)
    for name, make in KINDS.items():
        if not args.only or name.split(",")[0] in args.only or args.only in name:
            bench.kind(name, make)
    if not args.only or args.only.split(",")[0] in ("layouts", "ND", "NC1HWC0", "FRACTAL_NZ", "FRACTAL_Z"):
        args.only = None if args.only == "layouts" else args.only
        bench.layouts()
        bench.packed_layouts()
    large = bench.worst
    if args.files > 0 and (not args.only or "files" in args.only):
        bench.many()
    print(f"at most {large} MiB for a tensor of {args.mib} MiB, {bench.worst} MiB in all")
    return bench.failed or bench.worst > args.limit


if __name__ == "__main__":
    sys.exit(main())
