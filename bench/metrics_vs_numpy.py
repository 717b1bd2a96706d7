#!/usr/bin/env python3
"""The ten metrics of msaccucmp, ours against its algorithm written with NumPy, on the same memory.

Usage: metrics_vs_numpy.py build/release/lib/libbench_lib.so [elements] [dtype...]

Each dtype is compared with itself and with float32, which NumPy makes of both sides first. Also counts, over many random
pairs, how often a printed number differs from NumPy's: the logarithm of the divergence is NumPy's own, whose last bits depend on
the machine; all else must agree.
"""
import ctypes
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy computes these on one core but for the norms

import numpy as np

np.seterr(divide="ignore", invalid="ignore")  # of relative errors, which are then left out where they mean nothing
from stats_vs_numpy import best_seconds

EPSILON = np.finfo(np.float64).eps
NAMES = ("cosine", "max abs", "acc rel", "rel euclid", "divergence", "mean a", "std a", "mean g", "std g",
         "mean abs", "rmse", "max rel", "mean rel")


def probabilities(x):
    width = x.max() - x.min()
    if width != 0:
        x = (x - x.min()) / width
    x = np.where(x < np.finfo(np.float32).eps, np.finfo(np.float32).eps, x)
    return x / np.sum(x)


def norm(x):
    """Along an axis NumPy adds up by itself; without one it asks BLAS, which the original does not."""
    return np.linalg.norm(x, axis=-1, keepdims=True)


def relative_errors(a, g):
    return np.where(np.abs(g) > EPSILON, np.abs(a / g - 1), np.float32(0))


def numpy_metrics(a, g, divergence=True):
    """Each metric by itself, as the original computes them."""
    a64, g64 = a.astype(np.float64), g.astype(np.float64)
    p, q = (probabilities(a), probabilities(g)) if divergence else (None, None)
    return [
        min(np.sum((a / norm(a)) * (g / norm(g))), 1),
        np.max(np.abs(a - g)),
        np.sum(relative_errors(a, g)),
        np.sqrt(np.sum((a - g) ** 2) / np.sum(g**2)),
        np.sum(p * np.log(p / q)) if divergence else 0,
        a64.mean(), a64.std(), g64.mean(), g64.std(),
        np.mean(np.abs(a - g)),
        np.sqrt(np.mean((a - g) ** 2)),
        np.max(relative_errors(a, g)),
        np.mean(relative_errors(a, g)),
    ]


NUMBERS = {"bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "float16": 10, "bfloat16": 11, "float32": 12,
           "float64": 13}  # of src/model/dtype.h


def our_metrics(library, a, g, divergence=1, threads=1):
    out = (ctypes.c_double * 13)()
    sides = [word for x in (a, g) for word in (NUMBERS[dtype_of(x)], x.ctypes.data_as(ctypes.c_void_p))]
    library.opdump_bench_metrics(*sides, ctypes.c_int64(a.size), divergence, threads, out)
    return list(out)


def dtype_of(x):
    return "bfloat16" if x.dtype == np.uint16 else x.dtype.name  # which NumPy has not


def as_float(x):
    return (x.astype(np.uint32) << 16).view(np.float32) if dtype_of(x) == "bfloat16" else x.astype(np.float32)


def as_dtype(x, dtype):
    if dtype == "bfloat16":
        return (x.view(np.uint32) >> 16).astype(np.uint16)
    return ((abs(x) if dtype[0] == "u" else x) * (np.iinfo(dtype).max ** 0.5 if "int" in dtype else 1)).astype(dtype)


def random_pair(generator, count):
    a = generator.standard_normal(count, dtype=np.float32)
    noise = np.float32(10.0 ** generator.uniform(-5, 1))
    return a, a + noise * generator.standard_normal(count, dtype=np.float32)


def count_differences(library, pairs=2000):
    generator = np.random.default_rng(1)
    bits, printed = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for number in range(pairs):
        count = int(10 ** generator.uniform(0.4, 4.2 if number % 100 else 6.2))
        a, g = random_pair(generator, count)
        for name, ours, theirs in zip(NAMES, our_metrics(library, a, g, 1, number % 3), numpy_metrics(a, g)):
            bits[name] += ours != theirs
            printed[name] += "%.6f" % ours != "%.6f" % theirs
    print(f"of {pairs} random pairs, numbers that differ from NumPy's in any bit:",
          ", ".join(f"{name} {n}" for name, n in bits.items() if n) or "none")
    print("  and as printed:", ", ".join(f"{name} {n}" for name, n in printed.items() if n) or "none")


def main():
    library = ctypes.CDLL(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 16 * 1024 * 1024
    measure_floats(library, count)
    measure_dtypes(library, count, sys.argv[3:] or [name for name in NUMBERS if name not in ("bool", "float32")])
    count_differences(library)


def measure_dtypes(library, count, dtypes):
    floats = random_pair(np.random.default_rng(0), count)
    for dtype in dtypes:
        a = as_dtype(floats[0], dtype)
        for g in (as_dtype(floats[1], dtype), floats[1]):
            theirs = best_seconds(lambda: numpy_metrics(as_float(a), as_float(g)), 3)
            ours = best_seconds(lambda: our_metrics(library, a, g), 3)
            print(f"{dtype:8} and {dtype_of(g):8} {count:9} elements  numpy {theirs * 1e3:8.2f} ms  ours, one thread"
                  f" {ours * 1e3:7.2f} ms  ({theirs / ours:4.1f} x)  {(a.nbytes + g.nbytes) / ours / 1e9:5.2f} GB/s")
            assert np.allclose(our_metrics(library, a, g), numpy_metrics(as_float(a), as_float(g)), 1e-5, equal_nan=True)


def measure_floats(library, count):
    for size in (16 * 1024, count):
        a, g = random_pair(np.random.default_rng(0), size)
        repeats = max(1, 4 * 1024 * 1024 // size)
        for name, divergence in (("all ten", 1), ("without divergence", 0)):
            theirs = best_seconds(lambda: [numpy_metrics(a, g, divergence) for _ in range(repeats)]) / repeats
            for threads in (1, os.cpu_count()):
                ours = best_seconds(
                    lambda: [our_metrics(library, a, g, divergence, threads) for _ in range(repeats)]) / repeats
                speed = 2 * a.nbytes / ours / 1e9
                print(f"{2 * a.nbytes / 2**20:7.1f} MiB  {name:18}  numpy {theirs * 1e3:8.2f} ms  ours, {threads} threads"
                      f" {ours * 1e3:7.2f} ms  ({theirs / ours:4.1f} x)  {speed:5.2f} GB/s")


if __name__ == "__main__":
    main()
