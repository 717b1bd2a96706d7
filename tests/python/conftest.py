"""Programs that use the Python package, as a user writes them."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PACKAGES = OPDUMP.parent.parent / "python"
sys.path.insert(0, str(PACKAGES))


class Program:
    """Runs Python programs in a directory of their own, with the package in PYTHONPATH."""

    def __init__(self, directory):
        self.directory = directory

    def config(self, path="dump", **settings):
        """A configuration of the whole program, as the file data_dump.json. The dump goes to `path`."""
        common = {"dump_mode": 0, "path": str(self.directory / path), "net_name": "net", "iteration": "all", "input_output": 0,
                  "kernels": [], "support_device": [0], "saved_data": "full", **settings}
        file = self.directory / "data_dump.json"
        file.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}))
        return file

    def run(self, text, expect=0, env=None, under=(), arguments=()):
        file = self.directory / "program.py"
        file.write_text(textwrap.dedent(text))
        done = subprocess.run([*under, sys.executable, file, *arguments], cwd=self.directory, capture_output=True, text=True,
                              timeout=240, env={**os.environ, "PYTHONPATH": str(PACKAGES), **(env or {})})
        assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


@pytest.fixture(scope="session")
def make_program():
    return Program


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)
