"""Runs `opdump msaccucmp` and `opdump ls` for the modules of this folder, which need no more than NumPy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any


def find_opdump() -> str | None:
    """The program: that of the variable OPDUMP, else the one of this installation, else that of PATH."""
    given = os.environ.get("OPDUMP")
    if given:
        return shutil.which(given)
    prefix = os.path.realpath(__file__)
    for _ in range(4):  # prefix/tools/operator_cmp/compare/this file
        prefix = os.path.dirname(prefix)
    beside = os.path.join(prefix, "bin", "opdump")
    return beside if os.access(beside, os.X_OK) else shutil.which("opdump")


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    program = find_opdump()
    if program is None:
        raise FileNotFoundError("there is no opdump in this installation or in PATH; OPDUMP may name it")
    return subprocess.run([program, *words], check=False, capture_output=True, text=True)


def convert(path: str, output: str, *options: str) -> tuple[int, str]:
    """`msaccucmp convert`: the exit code and what it printed."""
    done = _run(["msaccucmp", "convert", "-d", path, "-out", output, *options])
    return done.returncode, done.stdout + done.stderr


def slots(path: str) -> list[dict[str, Any]]:
    """What `opdump ls` says of the tensors of a dump file, inputs first. Raises ValueError if it is none."""
    done = _run(["ls", path, "--json"])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = [slot for line in lines if "slots" in line for slot in line["slots"]]
    if done.returncode not in (0, 3) or not found:
        raise ValueError(f"{path} is no dump file: {done.stderr.strip()}")
    return found
