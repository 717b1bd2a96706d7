#!/usr/bin/env python3
"""Where the cost of recording goes: one process records ten training steps, leaves out ten, and so on, while perf samples it.

Usage: bench/torch_profile.py [--build build/release] [--model transformer] [--variant statistics] [--top 20]

Prints milliseconds of processor time for each step, by library and for the functions that take more, on the thread that runs the
program, and of all other threads together. A machine whose speed changes disturbs that less than the wall time. Needs perf.
"""

import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import torch_overhead as overhead

HERTZ = 4000
SAMPLE = re.compile(r"\s*(?P<thread>\d+)\s+(?P<time>[\d.]+):\s+[0-9a-f]+\s+(?P<function>.*)\s+\((?P<library>.+)\)\s*$")


def child(model, path):
    ends = []
    overhead.train(model, 8, lambda: ends.append(time.monotonic()))
    pathlib.Path(path).write_text(json.dumps({"thread": os.getpid(), "ends": ends}))


def count_samples(directory):
    """Samples by library and by function, and the times of steps; each for those left out and those recorded."""
    steps = json.loads((directory / "steps.json").read_text())
    ends, thread = steps["ends"], steps["thread"]
    settled = [i for i in range(2 * overhead.TEN, len(ends)) if i % overhead.TEN >= overhead.SETTLING]
    libraries, functions = ([collections.Counter(), collections.Counter()] for _ in range(2))
    script = subprocess.run(["perf", "script", "-f", "-i", directory / "samples", "-F", "tid,time,ip,sym,dso"], capture_output=True,
                            text=True, check=True).stdout
    wanted = set(settled)
    for sample in filter(None, map(SAMPLE.match, script.splitlines())):
        step = bisect.bisect(ends, float(sample["time"]))
        if step not in wanted:
            continue
        is_recorded = step // overhead.TEN % 2
        library = pathlib.Path(sample["library"]).name.split(".so")[0]
        if int(sample["thread"]) != thread:
            libraries[is_recorded]["other threads"] += 1
            library = f"other thread: {library}"
            functions[is_recorded][f"{library}: {sample['function']}"] += 1
            continue
        libraries[is_recorded][library] += 1
        functions[is_recorded][f"{library}: {sample['function']}"] += 1
    times = [[ends[i] - ends[i - 1] for i in settled if i // overhead.TEN % 2 == is_recorded] for is_recorded in (0, 1)]
    return libraries, functions, times


def print_costs(title, counters, times, most):
    per_step = [{name: n / HERTZ / len(t) * 1e3 for name, n in counter.items()} for counter, t in zip(counters, times)]
    more = {name: per_step[1][name] - per_step[0].get(name, 0) for name in per_step[1]}
    print(f"\n{title:70} {'left out':>9} {'recorded':>9} {'more':>9}   ms for each step")
    for name in sorted(more, key=lambda name: -more[name])[:most]:
        print(f"{name[:70]:70} {per_step[0].get(name, 0):9.2f} {per_step[1][name]:9.2f} {more[name]:9.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=overhead.ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--model", default="transformer", choices=["alexnet", "transformer"])
    parser.add_argument("--variant", default="statistics", choices=[v for v in overhead.VARIANTS if v not in ("plain", "idle")])
    parser.add_argument("--top", type=int, default=20, help="so many functions")
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.child:
        return child(args.model, args.child)
    if not shutil.which("perf"):
        sys.exit("perf is not installed (Debian: linux-perf)")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        environment = overhead.recorded_environment(directory, args.build.resolve(),
                                                    **{**overhead.VARIANTS[args.variant], "iteration": overhead.tens()})
        subprocess.run(["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", str(HERTZ), "-o", directory / "samples",
                        sys.executable, __file__, "--model", args.model, "--child", directory / "steps.json"],
                       env={"OMP_NUM_THREADS": "1", **environment}, check=True, stderr=subprocess.DEVNULL)
        libraries, functions, times = count_samples(directory)
    left_out, recorded = map(statistics.mean, times)
    print(f"a step takes {left_out * 1e3:.1f} ms, a recorded one {recorded * 1e3:.1f} ms: {recorded / left_out:.2f}x")
    print_costs("library", libraries, times, 8)
    print_costs("function", functions, times, args.top)


if __name__ == "__main__":
    main()
