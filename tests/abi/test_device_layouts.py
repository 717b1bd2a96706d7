"""An engine whose tensors lie in the layouts of a device says both shapes, and what it records is converted back."""
import ctypes as c
import json
import os
import subprocess

import numpy as np
import pytest

FLOAT16 = 10


class Options(c.Structure):
    _fields_ = [("size", c.c_uint32), ("rank", c.c_uint32), ("config_path", c.c_char_p), ("dialect", c.c_char_p), ("rest", c.c_uint64 * 16)]


class Info(c.Structure):
    _fields_ = [("size", c.c_uint32), ("phase", c.c_uint32), ("type", c.c_char_p), ("name", c.c_char_p), ("source", c.c_char_p),
                ("line", c.c_int32), ("reserved", c.c_int32), ("graph_id", c.c_int64), ("stream", c.c_int64), ("rest", c.c_uint64 * 3)]


class Tensor(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_uint32), ("rank", c.c_uint32), ("index", c.c_uint32), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.c_void_p), ("data", c.c_void_p), ("content", c.c_uint64), ("owner", c.c_void_p), ("undumped", c.c_char_p),
                ("value", c.c_uint64), ("name", c.c_char_p), ("role", c.c_uint32), ("format", c.c_uint32), ("original_rank", c.c_uint32),
                ("reserved", c.c_uint32), ("original_shape", c.POINTER(c.c_int64))]


def library():
    lib = c.CDLL(os.environ["OPDUMP_LIB"])
    lib.opdump_define.restype = lib.opdump_begin.restype = c.c_void_p
    lib.opdump_last_error.restype = c.c_char_p
    return lib


def tensor_of(array, number, original):
    dims, before = (c.c_int64 * array.ndim)(*array.shape), (c.c_int64 * len(original))(*original)
    return Tensor(size=c.sizeof(Tensor), dtype=FLOAT16, rank=array.ndim, shape=dims, data=array.ctypes.data, format=1 + number,
                  original_rank=len(original), original_shape=before)


def record(directory, array, number, original, size=c.sizeof(Tensor)):
    """The dump of one operator with the output `array`, by an engine whose struct has `size` bytes."""
    config = directory / "acl.json"
    config.write_text(json.dumps({"dump": {"dump_path": str(directory), "dump_list": [], "dump_op_switch": "on", "dump_mode": "output"}}))
    lib, session = library(), c.c_void_p()
    options = Options(size=c.sizeof(Options), config_path=str(config).encode(), dialect=b"acl")
    assert lib.opdump_open(c.byref(options), c.byref(session)) == 0, lib.opdump_last_error()
    info = Info(size=c.sizeof(Info), type=b"T", name=b"op", graph_id=-1)
    op = c.c_void_p(lib.opdump_define(session, c.byref(info)))
    assert lib.opdump_wants(session, op) == 1 | 2 | 8, "the outputs and the arguments, and no inputs"
    call = c.c_void_p(lib.opdump_begin(session, op, None, c.c_size_t(0)))
    output = tensor_of(array, number, original)
    output.size = size
    lib.opdump_end(session, call, c.byref(output), c.c_size_t(1), 0)
    assert lib.opdump_close(session) == 0, lib.opdump_last_error()
    [path] = directory.glob("2*/0/T.op.*")
    return path


def padded(array, *counts):
    return np.pad(array, [(0, count - size) for size, count in zip(array.shape, counts)])


def nc1hwc0(x):
    n, channels, h, w = x.shape
    blocks = -(-channels // 16)
    return padded(x, n, blocks * 16, h, w).reshape(n, blocks, 16, h, w).transpose(0, 1, 3, 4, 2)


def fractal_z(x):
    n, channels, h, w = x.shape
    blocks, outer = -(-channels // 16), -(-n // 16)
    x = padded(x, outer * 16, blocks * 16, h, w).reshape(outer, 16, blocks, 16, h, w)
    return x.transpose(2, 4, 5, 0, 1, 3).reshape(blocks * h * w, outer, 16, 16)


def fractal_nz(x):
    rows, columns = (-(-size // 16) for size in x.shape)
    return padded(x, rows * 16, columns * 16).reshape(rows, 16, columns, 16).transpose(2, 0, 1, 3)


def ndc1hwc0(x):
    n, channels, d, h, w = x.shape
    blocks = -(-channels // 16)
    return padded(x, n, blocks * 16, d, h, w).reshape(n, blocks, 16, d, h, w).transpose(0, 3, 1, 4, 5, 2)


@pytest.mark.parametrize("number, stored, shape, back", [
    (3, nc1hwc0, (2, 20, 3, 5), "NCHW"),
    (4, fractal_z, (20, 18, 3, 3), "NCHW"),
    (29, fractal_nz, (20, 33), "ND"),
    (32, ndc1hwc0, (2, 20, 3, 2, 5), "NCDHW"),
])
def test_recorded_and_converted_back(tmp_path, number, stored, shape, back):
    plain = np.random.default_rng(7).standard_normal(shape).astype("f2")
    array = np.ascontiguousarray(stored(plain))
    path = record(tmp_path, array, number, shape)
    assert path.stat().st_size > array.nbytes
    for target, expected in (([], array), (["-f", back], plain)):
        out = tmp_path / f"out{len(target)}"
        out.mkdir()
        subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", "convert", "-d", path, *target, "-out", out], check=True, capture_output=True)
        [result] = out.glob("*.npy")
        assert np.array_equal(np.load(result), expected), result.name


def test_an_engine_that_was_built_before(tmp_path):
    """Its struct ends before the original shape."""
    array = np.ones((2, 3), "f2")
    path = record(tmp_path, array, 2, (7, 7), size=Tensor.original_rank.offset)
    assert b"\x07\x07" not in path.read_bytes()
    assert path.read_bytes().endswith(array.tobytes())
