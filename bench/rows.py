#!/usr/bin/env python3
"""One model on other rows: what compare says of sound pairs, and of pairs with a fault.

Records tests/rows/programs/lm.py for each case, once right and once with each fault, and prints a table: how many faults are named by their
operator, how many sound pairs raise an alarm, and how many answers name another operator than the one at fault.

  bench/rows.py --opdump build/release/bin/opdump [--python PYTHON] [--dir DIR] [--only CASE]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "tests/rows/programs/lm.py"
ATTENTION = "Default/blocks-ModuleList/0-Block/attention-Attention/"
FAULTS = {
    "epsilon": {"Default/blocks-ModuleList/1-Block/second-LayerNorm/native_layer_norm-op0"},
    "position": {"Default/add-op0"},
    "late_position": {"Default/add-op0"},
    "scale": {ATTENTION + "div-op0"},
    "mask": {ATTENTION + "masked_fill-op0", "Default/bitwise_or-op0"},
}
ROWS = ["epsilon", "position", "scale"]
PADS = ["epsilon", "position", "mask"]
STEPS = ["epsilon", "late_position", "scale"]
# What golden and actual are called with, options of compare, and faults.
CASES = {
    "a row of a batch": ([], ["rows=2"], [], ROWS),
    "a batch of a row": (["rows=2"], [], [], ROWS),
    "rows in another order": ([], ["rows=3,1"], [], ROWS),
    "all rows in another order": ([], ["rows=3,1,0,2"], [], ROWS),
    "training, all rows in another order": (["train"], ["train", "rows=3,1,0,2"], [], ROWS),
    "training, a row of a batch": (["train"], ["train", "rows=2"], ["--rows", "2=0"], ROWS),
    "left padding": (["short", "rows=1"], ["short", "rows=1", "pad=left:10"], [], PADS),
    # A causal mask hides what pads a row on its right: the other mask is no fault there.
    "right padding": (["short"], ["short", "pad=right:10"], [], PADS[:2]),
    "left and right padding": (["short", "pad=left:10"], ["short", "rows=2", "pad=right:8"], [], PADS[:2]),
    "one pass, and a cache": (["rows=1"], ["rows=1", "cache=8"], [], STEPS),
    "one pass of a batch, and a cache": ([], ["rows=1", "cache=8"], [], STEPS),
}


def record(options, arguments):
    name = "_".join(["lm", *arguments]).replace("=", "-").replace(",", "").replace(":", "-")
    path = options.dir / name
    if not path.exists():
        subprocess.run([options.opdump, "run", "-o", path, "--steps", "all", "--", options.python, PROGRAM, *arguments], check=True, capture_output=True)
    return path


def compare(options, golden, actual, more):
    start = time.perf_counter()
    done = subprocess.run([options.opdump, "compare", golden, actual, "--json", *more, *([] if "--rows" in more else ["--rows", "auto"])], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opdump", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.dir = options.dir or pathlib.Path(tempfile.mkdtemp(prefix="rows"))
    options.dir.mkdir(parents=True, exist_ok=True)
    faults = named = sound = alarms = wrong = 0
    print(f"{'case':28} {'sound':>12} " + " ".join(f"{fault:>10}" for fault in FAULTS))
    for case, (golden, actual, more, of_case) in CASES.items():
        if options.only not in case:
            continue
        path = record(options, golden)
        status, summary, _ = compare(options, path, record(options, actual), more)
        sound += 1
        alarms += status == 1
        line = f"{case:28} {'same' if status == 0 else 'open' if status == 3 else 'ALARM':>12} "
        for fault, operators in FAULTS.items():
            if fault not in of_case:
                line += f"{'':>10} "
                continue
            status, summary, _ = compare(options, path, record(options, [*actual, f"fault={fault}"]), more)
            found = summary["first_bad"]["operator"] if summary["first_bad"] else None
            faults += 1
            named += found in operators
            wrong += found is not None and found not in operators
            line += f"{'named' if found in operators else 'missed' if found is None else 'WRONG':>10} "
            if found not in operators:
                print(f"  {case}, {fault}: exit {status}, {summary['text']}", file=sys.stderr)
        print(line.rstrip(), flush=True)
    print(f"{named} of {faults} faults named, {alarms} alarms in {sound} sound pairs, {wrong} wrong operators")


if __name__ == "__main__":
    main()
