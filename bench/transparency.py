#!/usr/bin/env python3
"""Every program of tests/conformance/messy in every mode: what it prints, its stderr and its status are those of the plain run.

Usage: bench/transparency.py [--build build/release] [--program NAME]... [--mode NAME]... [--keep DIRECTORY]

Prints a line for each cell that is not equal, with the first differing lines; ends with status 1 if there is one. The whole
matrix takes about half an hour on two processors.
"""

import argparse
import difflib
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/conformance"))

import transparency


def differences(plain, recorded):
    """The lines of which one run has others, by stream."""
    for stream in plain:
        if plain[stream] == recorded[stream]:
            continue
        if stream in ("out", "err"):
            lines = difflib.unified_diff(plain[stream].splitlines(), recorded[stream].splitlines(), "plain", "recorded", n=0, lineterm="")
            yield from (f"{stream}: {line[:240]}" for line in list(lines)[2:12])
        else:
            yield f"{stream}: {plain[stream]} became {recorded[stream]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--program", action="append", choices=transparency.names())
    parser.add_argument("--mode", action="append", choices=list(transparency.MODES))
    parser.add_argument("--keep", type=pathlib.Path, help="an empty directory for the programs' files")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        parser.error(f"{sys.executable} has no torch")
    bad = cells = 0
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or pathlib.Path(temporary)
        for program in arguments.program or transparency.names():
            plain = transparency.run(program, None, root / program / "plain", arguments.build.resolve())
            for mode in arguments.mode or transparency.MODES:
                cells += 1
                try:
                    recorded = transparency.run(program, mode, root / program / mode, arguments.build.resolve())
                    found = list(differences(plain, recorded))
                except subprocess.TimeoutExpired:
                    found = ["does not end"]
                bad += bool(found)
                for i, line in enumerate(found):
                    print(f"{program} | {mode}" if i == 0 else "", f"   {line}", sep="\n" if i == 0 else "", flush=True)
    print(f"{cells - bad} of {cells} cells are equal")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
