#!/usr/bin/env python3
"""What `opdump watch` costs a training step, as a ratio to the same step without opdump in the same run.

Usage: bench/watch.py [--opdump build/release/bin/opdump] [--model alexnet|transformer|tiny|all] [--rounds N] [--threads N]

Each round runs the program of bench/torch_overhead.py plain and watched, in turn. Of each, the best round counts: of the median
step, and of the processor time that the process used per step, which says more on a machine that is busy.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "torch_overhead.py"


def measure(command, directory, threads):
    """The median step in seconds, and the processor time of all steps."""
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {})}
    before = os.times()
    run = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    after = os.times()
    if run.returncode:
        sys.exit(run.stderr)
    if len(command) > 4 and "nothing to report" not in run.stderr:
        sys.exit(f"not watched: {run.stderr}")
    result = json.loads(run.stdout.splitlines()[-1])
    return result["step"], after.children_user + after.children_system - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opdump", default=HERE.parent / "build/release/bin/opdump", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="one that has torch")
    parser.add_argument("--model", default="all", choices=["alexnet", "transformer", "tiny", "all"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="of torch; default: as many as torch takes")
    args = parser.parse_args()
    models = ["alexnet", "transformer", "tiny"] if args.model == "all" else [args.model]
    for model in models:
        program = [args.python, str(PROGRAM), "--child", model]
        plain, watched = [], []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory() as directory:
                plain.append(measure(program, directory, args.threads))
                watched.append(measure([str(args.opdump.resolve()), "watch", "--", *program], directory, args.threads))
        steps = [min(step for step, _ in runs) for runs in (plain, watched)]
        processor = [min(seconds for _, seconds in runs) for runs in (plain, watched)]
        print(f"{model:12} {steps[0] * 1e3:9.2f} ms/step plain  {steps[1] / steps[0]:6.3f}x watched  "
              f"processor time of the process {processor[1] / processor[0]:6.3f}x", flush=True)


if __name__ == "__main__":
    main()
