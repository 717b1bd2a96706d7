"""The command `opdump` of a package installed by pip: starts the program inside the package."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "opdump")
    os.execv(program, ["opdump", *sys.argv[1:]])
