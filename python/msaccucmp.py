#!/usr/bin/env python3
"""msaccucmp.py convert|compare|overflow|file_compare ... : the original's command line, answered by opdump.

Runs `opdump msaccucmp` with the same words. The program is that of the variable OPDUMP, else the one beside this file,
else that of PATH.
"""

from __future__ import annotations

import os
import shutil
import sys


def find_opdump() -> str | None:
    """The path of the program, or None."""
    given = os.environ.get("OPDUMP")
    if given:
        return shutil.which(given)
    beside = os.path.join(os.path.dirname(os.path.realpath(__file__)), "opdump")
    return beside if os.access(beside, os.X_OK) and os.path.isfile(beside) else shutil.which("opdump")


def main() -> None:
    program = find_opdump()
    if program is None:
        sys.exit("msaccucmp.py: there is no opdump beside this file or in PATH; OPDUMP may name it")
    sys.stdout.flush()
    os.execv(program, [program, "msaccucmp", *sys.argv[1:]])


if __name__ == "__main__":
    main()
