"""The command `opdump` of a package installed by pip: starts the program inside the package."""

import importlib.util
import os
import sys


def main() -> None:
    if importlib.util.find_spec("torch"):  # operators run again here, also if this environment is not activated
        os.environ.setdefault("OPDUMP_PYTHON", sys.executable)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "opdump")
    os.execv(program, ["opdump", *sys.argv[1:]])
