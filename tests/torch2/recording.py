"""Programs with the torch of OPDUMP_TORCH2, as they are and under `opdump run`."""

import functools
import json
import os
import pathlib
import re
import subprocess

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
PYTHON = os.environ["OPDUMP_TORCH2"]  # an interpreter with torch
BUILD = pathlib.Path(OPDUMP).parent.parent
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"

needs_torch = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no torch from PyPI: tools/fetch_torch.sh")


def config(directory, dump):
    file = directory / f"{dump}.json"
    file.write_text(json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": str(directory / dump), "net_name": "net", "iteration": "all",
                                 "input_output": 0, "kernels": [], "support_device": [0, 1], "saved_data": "full"},
        "e2e_dump_settings": {"enable": True}}))
    return file


def command(name, *arguments):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] if name == "distributed" else []
    return [PYTHON, *launcher, PROGRAMS / f"{name}.py", *arguments]


def run(words, directory, **env):
    return subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=1800,
                          env={**os.environ, **env})


def record(directory, name, *arguments, dump=None, options=(), **env):
    dump = dump or name
    done = run([OPDUMP, "run", *options, "--config", config(directory, dump), "--", *command(name, *arguments)], directory, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def listing(directory, dump):
    done = run([OPDUMP, "ls", dump], directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


def operators(directory, dump):
    return re.findall(r"^  (\S+)  \((\w+), (\w+), ([^)]*)\)$", listing(directory, dump), re.MULTILINE)


@functools.lru_cache(maxsize=None)
def torch_version():
    """(2, 15); () if there is none."""
    if not os.access(PYTHON, os.X_OK):
        return ()
    done = run([PYTHON, "-c", "import torch; print(torch.__version__)"], PROGRAMS)
    return tuple(int(number) for number in re.findall(r"\d+", done.stdout)[:2])


def require_torch(source):
    """Skips the test if the program says "# needs torch 2.5" and this one is older."""
    if needed := re.search(r"^# needs torch (\d+)\.(\d+)$", source.read_text(), re.MULTILINE):
        if torch_version() < tuple(int(number) for number in needed.groups()):
            pytest.skip(needed[0][2:])


def require_launcher():
    """Skips the test if torch.distributed.run cannot start: Debian 13's torch is built without a library that it wants."""
    done = run([PYTHON, "-c", "from torch.distributed import TCPStore; TCPStore('localhost', 0, is_master=True)"], PROGRAMS)
    if "without libuv support" in done.stderr:
        pytest.skip("this torch has no launcher")
