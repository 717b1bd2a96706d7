#!/usr/bin/env python3
"""Do identical runs compare as identical? Records each of eight programs several times and compares all pairs.

Usage: bench/verdict_stability.py [--build build/release] [--runs 5] [--programs cnn lstm ...] [--keep DIRECTORY]

The only pass is: no pair with a difference, every recording complete, and the program's own results those of a plain
run. Exit status 1 otherwise. The programs lie in bench/stability/; `notebook` records twice in each process, and its two
recordings are compared like any other two.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench/stability"
PROGRAMS = ["cnn", "transformer", "lstm", "loader", "ddp", "autocast", "scripted", "notebook"]
PYTHON = "/usr/bin/python3"


def config(directory, path):
    settings = {"dump_mode": 0, "path": str(path), "net_name": "net", "iteration": "all", "saved_data": "full",
                "statistic_category": ["max", "min", "avg", "l2norm"]}
    file = directory / "data_dump.json"
    file.write_text(json.dumps({"common_dump_settings": settings, "e2e_dump_settings": {"enable": True}}))
    return file


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPDUMP_", "MINDSPORE_DUMP", "RANK", "LOCAL_RANK"))}
    return {**kept, "PYTHONPATH": str(FOLDER), **more}


def run_plain(program, args, directory):
    if program == "notebook":  # it imports opdump itself: its results are those of `cnn`-like cells, run recorded
        return None
    done = subprocess.run([PYTHON, FOLDER / f"{program}.py"], env=environment(), capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{program} fails without opdump:\n{done.stderr}")
    return done.stdout


def record(program, args, directory):
    """Records one run; its output and the folders of its recordings."""
    directory.mkdir(parents=True)
    dump = directory / "dump"
    file = config(directory, dump)
    if program == "notebook":
        command = [PYTHON, FOLDER / "notebook.py", dump]
        env = environment(STABILITY_CONFIG=str(file), PYTHONPATH=f"{FOLDER}:{args.build}/python")
        folders = [dump / "0", dump / "1"]
    else:
        command = [args.build / "bin/opdump", "run", "--config", file, "--", PYTHON, FOLDER / f"{program}.py"]
        env = environment()
        folders = [dump]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    problems = []
    if done.returncode:
        problems.append(f"the program ends with {done.returncode}:\n{done.stderr}")
    for status in [s for folder in folders for s in folder.rglob("opdump_status*.json")]:
        content = json.loads(status.read_text())
        if content["state"] != "complete":
            problems.append(f"{status.name}: {content['state']}: {content['losses']}")
    return done.stdout, folders, problems


def compare(args, a, b):
    done = subprocess.run([args.build / "bin/opdump", "compare", a, b], capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else f"exit {done.returncode}: {(done.stdout + done.stderr).splitlines()[-1]}"


def judge(program, args, directory):
    plain = run_plain(program, args, directory)
    folders, problems = [], []
    for run in range(args.runs):
        output, recorded, found = record(program, args, directory / f"run{run}")
        problems += [f"run {run}: {p}" for p in found]
        plain = plain or output  # of the program that imports opdump itself: the first run's
        if output != plain:
            problems.append(f"run {run}: the program prints something else:\n{output}instead of\n{plain}")
        folders += recorded
    pairs = list(itertools.combinations(folders, 2))
    differences = [(a, b, d) for a, b in pairs if (d := compare(args, a, b))]
    problems += [f"{a.relative_to(directory)} and {b.relative_to(directory)}: {d}" for a, b, d in differences]
    print(f"{program:12} {args.runs} runs, {len(differences)} of {len(pairs)} pairs differ, "
          f"{len(problems) - len(differences)} other problems", flush=True)
    for problem in problems[:args.show]:
        print(f"    {problem}", flush=True)
    return not problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--programs", nargs="*", default=PROGRAMS, choices=PROGRAMS)
    parser.add_argument("--keep", type=pathlib.Path, help="record here, and leave the recordings")
    parser.add_argument("--show", type=int, default=5, help="problems shown of each program")
    args = parser.parse_args()
    args.build = args.build.resolve()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
        directory = (args.keep or pathlib.Path(temporary)).resolve()
        # All of them, also after a failure.
        results = [judge(program, args, directory / program) for program in args.programs]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
