#!/usr/bin/env python3
"""How much memory opdump needs at most for one large tensor, for each kind of file that it reads, each verb and each change of
layout; and for many files and rows of statistics: elements never lie in memory as a whole, names and slots do, in at most 300
bytes for each.

Usage: bench/memory.py [--dir DIRECTORY] [--mib M] [--files N] [--limit M] [--build build/release] [--only TEXT]

The files are sparse or compress well; what is written needs room in DIRECTORY and, where elements are unpacked or brought into
another order, in TMPDIR (/var/tmp if it is not set). What this script itself has counts, too, up to the first page that a command
touches: some 45 MiB. Exits with 1 if a command needs more than --limit MiB, for files and rows that and 300 bytes for each, or fails.
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
from conftest import dims, field, varint
from make_network import operator

STEP = 4 << 20  # bytes that are compressed at a time
BYTES_OF_SLOT = 300  # at most, with its share of names and executions
FLOAT, HALF, BYTE = 1, 2, 4
NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, HWCN, FRACTAL_NZ, NDC1HWC0 = 0, 1, 2, 3, 4, 16, 29, 32
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


def mindspore(folder, side, size):
    """The tree of its dumps, with two runs and statistics of them."""
    place = folder / "rank_0/net/0/0"
    place.mkdir(parents=True)
    table = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value\n"
    for slot in (0, 1):
        sparse(place / f"MatMul.Default_MatMul-op0.0.0.1700000000000000.output.{slot}.DefaultFormat.npy",
               npy_header("<f2", (4096, size // 16384)), size // 2, side)
        table += f'MatMul,Default_MatMul-op0,0,0,1700000000000000,output,{slot},{size // 2},float16,'
        table += f'"(4096,{size // 16384})",1,0,0,\n'
    (place / "statistic.csv").write_text(table)


def table(folder, side, rows, of_one):
    """Statistics alone, of so many slots of one operator."""
    place = folder / "rank_0/net/0/0"
    place.mkdir(parents=True)
    with open(place / "statistic.csv", "w") as file:
        file.write("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value\n")
        for row in range(rows):
            file.write(f'MatMul,Default_network_layer-MatMul-op{row // of_one},0,0,1700000000000000,output,{row % of_one},64,float16,"(4,8)",'
                       f'{1 + (side == "golden")},0,0.125,\n')


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


def nano(folder, side, size):
    """A nano device's dump: tags, lengths and values."""
    shape = struct.pack("<2I2Q", 0, 16, 4096, size // 16384)
    item = struct.pack("<6I3QI", 0, 2, 0, 0, 0, 2, 0, 0, size, len(shape)) + shape
    header = struct.pack("<II", 0x5A5A5A5A, 1) + struct.pack("<3I", 4, 4, 0) + struct.pack("<3I", 5, 4 + len(item), 1) + item
    sparse(folder / "Op.op.1.2.1700000000000000", struct.pack("<Q", len(header)) + header, size, side)


def op_debug(folder, side, size):
    """A record that an operator overflowed, with too many bytes."""
    header = message([described(BYTE, ND, (size,), size, None)])
    sparse(folder / "Opdebug.Node_OpDebug.1.2.1600000000000000", struct.pack("<Q", len(header)) + header, size, side)


def overflow_record():
    """As it should be: of stream 1, task 2."""
    record = bytearray(2048)
    struct.pack_into("<4Q", record, 256, 1, 2, 1, 0)
    struct.pack_into("<3Q", record, 1024, 0xabc, 0, 16)
    header = message([described(BYTE, ND, (2048,), 2048, None)])
    return struct.pack("<Q", len(header)) + header + record


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
    "dump, nano": nano,
    "dump, Opdebug": op_debug,
    "MindSpore": mindspore,
    "ONNX, raw": onnx,
    "ONNX, numbers": lambda *a: onnx(*a, False),
}
SMALLER = {"dump, int4": 8, "dump, uint1": 16, "dump, hifloat8": 4, "ONNX, raw": 2, "ONNX, numbers": 2, "dump, version 1": 2}
DONE = 0, 1, 11  # 1: a difference; 11: the record that is too long
TEXT_IS_LONGER = 8  # than what it shows, so that a part of it is enough


def changes(count):
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
        (NDC1HWC0, (count // (4 * 8 * 64 * 64 * 16), 4, 8, 64, 64, 16), (count // (128 * 4 * 64 * 64), 128, 4, 64, 64), ["NCDHW"]),
        (HWCN, (3, 3, 512, plain), None, ["NCHW", "NHWC", "FRACTAL_Z"]),
        (NCHW, (plain, 512, 3, 3), None, ["NHWC", "FRACTAL_Z"]),
        (NHWC, (plain, 3, 3, 512), None, ["NCHW", "HWCN", "FRACTAL_Z"]),
    ]


def peak_mib(command, done):
    """The most memory that the command or a child of it had at a time, how long it took, and its exit status."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as log:  # not read: it can be long, and what this script has counts
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in done:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 2000))
            print(log.read().decode(errors="replace"), file=sys.stderr)
    return usage.ru_maxrss >> 10, time.perf_counter() - begin, process.returncode


class Bench:
    def __init__(self, args):
        self.args, self.worst, self.failed = args, 0, False
        self.opdump = args.build / "bin/opdump"

    def is_wanted(self, kind, verb=""):
        in_kind, _, in_verb = self.args.only.partition(":")
        return in_kind in kind and (not verb or in_verb.strip() in verb)

    def row(self, kind, verb, *command, done=DONE):
        if not self.is_wanted(kind, verb):
            return
        peak, seconds, status = peak_mib([self.opdump, *command], done)
        self.worst = max(self.worst, peak)
        self.failed |= status not in done
        print(f"{kind:20} {verb:38} {peak:5} MiB {seconds:6.1f} s", flush=True)

    def kind(self, name, make):
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            size = (self.args.mib << 20) // SMALLER.get(name, 1)
            for side in ("golden", "actual"):
                (root / side).mkdir()
                make(root / side, side, size)
            self.read(name, root)
            self.write(name, root)

    def read(self, name, root):
        golden, actual, out = root / "golden", root / "actual", root / "out"
        self.row(name, "ls", "ls", golden)
        if name == "dump, Opdebug":  # a record is no tensor
            return
        self.row(name, "show", "show", golden, "--op", "")
        self.row(name, "compare", "compare", golden, actual)
        if name.startswith("dump"):
            self.convert(name, root, "msaccucmp compare", "msaccucmp", "compare", "-m", actual, "-g", golden, "-out", out)
        file = {"h5": "op.h5", "npy": "op.npy"}.get(name.split(",")[0])
        if file:
            verb = "compare" if file == "op.h5" else "file_compare"
            self.convert(name, root, f"msaccucmp {verb}", "msaccucmp", verb, "-m", actual / file, "-g", golden / file, "-out", out,
                         *(["-p", "1"] if file == "op.h5" else []))

    def write(self, name, root):
        golden, out = root / "golden", root / "out"
        if name != "dump, Opdebug":
            for end in ("npy", "bin", "pt", "npz", "safetensors") if name in ("npy", "dump, bfloat16") else ["npy"]:
                self.convert(name, root, f"convert --to {end}", "convert", golden, "-o", out, "--to", end)
        if name.startswith("dump"):
            for end in ("npy", "bin", "msnpy", "pt") if name in ("dump", "dump, bfloat16") else ["npy"]:
                self.convert(name, root, f"msaccucmp convert -t {end}", "msaccucmp", "convert", "-d", golden, "-t", end, "-out", out)

    def convert(self, name, root, verb, *command):
        """A row of a command that fills root/out, which is then gone."""
        (root / "out").mkdir()
        self.row(name, verb, *command)
        shutil.rmtree(root / "out")

    def texts(self):
        for name in filter(self.is_wanted, ("npy", "dump, bfloat16")):
            with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
                root = pathlib.Path(folder)
                (root / "golden").mkdir()
                KINDS[name](root / "golden", "golden", (self.args.mib << 20) // TEXT_IS_LONGER)
                self.convert(name, root, "convert --to txt", "convert", root / "golden", "-o", root / "out", "--to", "txt")

    def overflow(self, name, dtype):
        """The record of an overflow, and the tensor that it was in."""
        if not self.is_wanted(name):
            return
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            (root / "golden").mkdir()
            (root / "golden/Opdebug.Node_OpDebug.1.2.1600000000000000").write_bytes(overflow_record())
            dump(root / "golden", "golden", self.args.mib << 20, dtype)
            self.convert(name, root, "msaccucmp overflow", "msaccucmp", "overflow", "-d", root / "golden", "-out", root / "out")

    def layout(self, name, dtype, layout, stored, original, target="NCHW"):
        """A dump in one layout against an array of the original model in another."""
        if not self.is_wanted(name):
            return
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
        self.layout("ND, f16", HALF, ND, (4096, count // 4096), (4096, count // 4096), "ND")
        self.layout("ND", FLOAT, ND, (4096, count // 4096), (4096, count // 4096), "ND")
        self.layout("NC1HWC0", FLOAT, NC1HWC0, (count // (16 * 128 * 128 * 16), 16, 128, 128, 16),
                    (count // (16 * 128 * 128 * 16), 256, 128, 128))
        self.layout("NC1HWC0, f16", HALF, NC1HWC0, (count // (16 * 128 * 128 * 16), 16, 128, 128, 16),
                    (count // (16 * 128 * 128 * 16), 250, 128, 128))
        self.layout("FRACTAL_NZ, f16", HALF, FRACTAL_NZ, (256, count // 65536, 16, 16), (count // 4096, 4096), "ND")
        n = count // (512 * 9)
        self.layout("FRACTAL_Z, f16", HALF, FRACTAL_Z, (32 * 9, n // 16, 16, 16), (n // 16 * 16, 512, 3, 3))

    def packed_layouts(self):
        if not self.is_wanted("NC1HWC0, int4"):
            return
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

    def changes(self):
        if not self.is_wanted("change"):
            return
        for dtype, what in ((HALF, "f16"), (BFLOAT16, "bf16")):
            for layout, shape, original, targets in changes(self.args.mib << 19):
                with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
                    root = pathlib.Path(folder)
                    (root / "golden").mkdir()
                    dump(root / "golden", "golden", 2 * int(np.prod(shape)), dtype, layout, shape, original)
                    for target in targets if dtype == HALF else targets[:1]:
                        shown = "x".join(map(str, shape))
                        self.convert("change", root, f"{what} {layout} {shown} to {target}", "msaccucmp", "convert",
                                     "-d", root / "golden", "-out", root / "out", "-f", target)

    def table(self):
        """Memory for each row."""
        for of_one, name in (4, f"{self.args.files} rows"), (1, f"{self.args.files} operators"):
            if not self.is_wanted(name):
                continue
            with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
                root = pathlib.Path(folder)
                for side in ("golden", "actual"):
                    table(root / side, side, self.args.files, of_one)
                self.row(name, "ls", "ls", root / "golden")
                self.row(name, "compare", "compare", root / "golden", root / "actual")

    def many(self):
        """Memory for each file."""
        name = f"{self.args.files} files"
        if not self.is_wanted(name):
            return
        with tempfile.TemporaryDirectory(dir=self.args.dir) as folder:
            root = pathlib.Path(folder)
            header = message([described(FLOAT, ND, (16,), 64, None)])
            content = struct.pack("<Q", len(header)) + header
            for side in ("golden", "actual"):
                (root / side).mkdir()
                for i in range(self.args.files):
                    (root / side / f"Relu.layer_{i}_relu.{i}.2.{1700000000000000 + i}").write_bytes(content + start_of(side)[:64])
            golden, actual = root / "golden", root / "actual"
            (root / "out").mkdir()
            self.row(name, "ls", "ls", golden)
            self.row(name, "compare", "compare", golden, actual)
            self.row(name, "msaccucmp compare", "msaccucmp", "compare", "-m", actual, "-g", golden, "-out", root / "out")
            self.row(name, "msaccucmp convert", "msaccucmp", "convert", "-d", golden, "-out", root / "out")
            self.row(name, "msaccucmp overflow", "msaccucmp", "overflow", "-d", golden, "-out", root / "out")
            self.row(name, "convert --to npz", "convert", golden, "-o", root / "out2", "--to", "npz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--files", type=int, default=200000)
    parser.add_argument("--limit", type=int, default=512)
    parser.add_argument("--only", default="", help="what contains this text, a kind or \"KIND: VERB\"")
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    args = parser.parse_args()
    bench = Bench(args)
    for name in filter(bench.is_wanted, KINDS):
        bench.kind(name, KINDS[name])
    bench.texts()
    for name, dtype in (("overflow", FLOAT), ("overflow, float16", HALF)):
        bench.overflow(name, dtype)
    bench.layouts()
    bench.packed_layouts()
    bench.changes()
    large = bench.worst
    if args.files > 0:
        bench.many()
        bench.table()
    print(f"at most {large} MiB for a tensor of {args.mib} MiB, {bench.worst} MiB in all")
    # compare has two dumps of them
    return bench.failed or large > args.limit or bench.worst > args.limit + 2 * args.files * BYTES_OF_SLOT / (1 << 20)


if __name__ == "__main__":
    sys.exit(main())
