"""What the tests of `opdump msaccucmp` share: the program, the original's reference results, and dump files of our own."""
import os
import pathlib
import re
import struct
import subprocess

import pytest

DATA = (pathlib.Path(__file__).resolve().parents[3] / "shared/testdata/cann").resolve()
NEW, OLD = DATA / "expected_new", DATA / "expected_81"
STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) - ")
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the reference results of msaccucmp are not part of the repository")


def msaccucmp(*arguments, **more):
    return subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", *map(str, arguments)], capture_output=True, text=True, **more)


def convert(*arguments, **more):
    return msaccucmp("convert", *arguments, **more)


def log_of(text, output, reference):
    """What was said, sorted, without times and places. Progress depends on time but for its last line."""
    lines = [STAMP.sub("", line) for line in text.splitlines()]
    lines = [line.replace(str(output), "OUT").replace(str(DATA), "@DATA@") for line in lines]
    for version in ("new", "81"):
        lines = [line.replace(f"@DATA@/golden_runs/{version}/{reference}", "OUT") for line in lines]
    return sorted(line for line in lines if "run as root" not in line and "took" not in line
                  and ("%]" not in line or "100%]" in line) and "Failed to parse proto data" != line)


def files_of(folder, *suffixes):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (suffixes or (".npy", ".bin"))}


def varint(value):
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def field(number, value):
    """A protobuf field: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def dims(shape):
    return field(1, b"".join(map(varint, shape)))


def tensor(dtype, fmt, shape, data, original=None, groups=0, is_input=False):
    size, old, sub = (5, 6, 7) if is_input else (6, 7, 8)
    text = field(1, dtype) + field(2, fmt) + field(3, dims(shape)) + field(size, len(data))
    if original is not None:
        text += field(old, dims(original))
    return text + (field(sub, groups) if groups else b""), data


def dump_file(path, outputs=(), inputs=(), buffers=(), spaces=(), name="op"):
    """Writes a dump of version 2."""
    header = field(1, b"2.0") + field(2, 1700000000000000)
    header += b"".join(field(3, text) for text, _ in outputs) + b"".join(field(4, text) for text, _ in inputs)
    header += b"".join(field(5, field(3, len(data))) for data in buffers) + field(6, name.encode())
    header += b"".join(field(8, field(3, len(data))) for data in spaces)
    payload = b"".join(data for _, data in (*inputs, *outputs)) + b"".join(buffers) + b"".join(spaces)
    path.write_bytes(struct.pack("<Q", len(header)) + header + payload)
    return path
