#!/usr/bin/env python3
"""Our one-pass statistics against NumPy taking max, min and l2norm one after the other, on the same memory. The
last column shares a tensor among all cores, as a recording does with large ones; NumPy uses one.

Usage: stats_vs_numpy.py build/release/lib/libbench_lib.so [elements]
"""
import ctypes
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core against one core

import numpy as np


def best_seconds(work, runs=7):
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def main():
    library = ctypes.CDLL(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 64 * 1024 * 1024
    numbers = {"float32": 12, "float64": 13, "float16": 10, "int32": 4}
    for name, number in numbers.items():
        values = (np.random.default_rng(0).standard_normal(count, dtype=np.float32) * 4).astype(name)
        out = (ctypes.c_double * 4)()
        pointer = values.ctypes.data_as(ctypes.c_void_p)

        def ours(all_of_them, threads=1):
            library.opdump_bench_stats(number, pointer, ctypes.c_int64(values.size), all_of_them, threads, out)

        def numpy_default():
            wide = values if name in ("float32", "float64") else values.astype(np.float64)
            return values.max(), values.min(), np.linalg.norm(wide)

        ours(1)
        assert np.isclose(out[0], float(values.max())) and np.isclose(out[1], float(values.min()))
        assert np.isclose(out[3], np.linalg.norm(values.astype(np.float64)), rtol=1e-9)
        theirs = best_seconds(numpy_default)
        default, everything = best_seconds(lambda: ours(0)), best_seconds(lambda: ours(1))
        shared = best_seconds(lambda: ours(0, os.cpu_count()))
        print(f"{name:8} {values.nbytes >> 20:5} MiB  numpy max, min, l2norm {theirs * 1e3:8.1f} ms"
              f"  ours {default * 1e3:7.1f} ms ({theirs / default:5.1f} x)"
              f"  all eleven {everything * 1e3:7.1f} ms ({theirs / everything:5.1f} x)"
              f"  {os.cpu_count()} threads {shared * 1e3:7.1f} ms ({theirs / shared:5.1f} x)")


if __name__ == "__main__":
    main()
