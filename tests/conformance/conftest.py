"""Real programs under `opdump run`, and their dumps read back with numpy and pandas."""

import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
BUILD = OPDUMP.parent.parent

NAME = re.compile(r"^(?P<type>.+)\.(?P<name>[^.]+)\.0\.0\.(?P<us>\d{16})\.(?P<io>input|output)\.(?P<index>\d+)"
                  r"\.(?P<format>\w+)\.(?P<dtype>\w+)\.npy$")


class Dump:
    """A dump directory, by operator name."""

    def __init__(self, rank_directory):
        self.path = pathlib.Path(rank_directory)

    @property
    def status(self):
        return json.loads((self.path / "opdump_status.json").read_text())

    @property
    def log(self):
        return [json.loads(line) for line in (self.path / "operators.jsonl").read_text().splitlines()]

    @property
    def operators(self):
        return {entry["name"]: entry for entry in self.log if entry["kind"] == "operator"}

    def undumped(self, name):
        return {f"{e['side']}.{e['index']}": e["reason"] for e in self.log if e["kind"] == "slot" and e["name"] == name}

    def step_directories(self):
        """{step: directory}: each step is an execution of one graph."""
        found = {int(p.name): p for p in self.path.glob("net/[0-9]*/[0-9]*")}
        assert len(found) == len(list(self.path.glob("net/[0-9]*/[0-9]*"))), "a step of two graphs"
        return found

    def steps(self):
        return sorted(self.step_directories())

    def files(self, step=0):
        """{(sanitised operator name, "input.0"): path}"""
        found = {}
        for path in self.step_directories()[step].glob("*.npy"):
            match = NAME.match(path.name)
            assert match, path.name
            key = (match["name"], f"{match['io']}.{match['index']}")
            assert key not in found, f"{key} twice"
            found[key] = path
        return found

    def tensor(self, name, slot, step=0):
        return np.load(self.files(step)[(sanitise(name), slot)])

    def rows(self, step=0):
        return pd.read_csv(self.step_directories()[step] / "statistic.csv", index_col=False)


def sanitise(name):
    return re.sub(r"[/\\. ]", "_", name)


class Runner:
    def __init__(self, directory):
        self.directory = directory
        self.package = BUILD / "python"  # for programs that import opdump themselves
        self.runs = 0

    def config(self, name="data_dump.json", e2e=None, **settings):
        """Writes a configuration; the dump goes to a directory of its own. `e2e=False` leaves the section out."""
        common = {"dump_mode": 0, "path": str(self.directory / f"dump{self.runs}"), "net_name": "net", "iteration": "all",
                  "input_output": 0, "kernels": [], "support_device": [0], "saved_data": "full", **settings}
        path = self.directory / name
        sections = {"common_dump_settings": {key: value for key, value in common.items() if value is not None}}
        if e2e is not False:
            sections["e2e_dump_settings"] = e2e or {"enable": True}
        path.write_text(json.dumps(sections))
        return path

    def script(self, text):
        path = self.directory / "program.py"
        path.write_text(textwrap.dedent(text))
        return path

    def plain(self, text, env=None, under=None, expect=0):
        """Runs the program `text`, under `opdump run` with the options `under` if they are given."""
        launcher = [] if under is None else [OPDUMP, "run", *under, "--"]
        done = subprocess.run([*launcher, sys.executable, self.script(text)], cwd=self.directory, capture_output=True, text=True,
                              timeout=240, env={**os.environ, **(env or {})})
        assert under is None or done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, text, env=None, config=None, mode=None, strict=False, **settings):
        """Starts the program `text` under `opdump run`; returns (process, where its dump will be)."""
        self.runs += 1
        config = config or self.config(**settings)
        options = (["--mode", mode] if mode else []) + (["--strict"] if strict else [])
        command = [OPDUMP, "run", "--config", config, *options, "--", sys.executable, self.script(text)]
        process = subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **(env or {})})
        return process, self.directory / f"dump{self.runs}/rank_0"

    def run(self, text, expect=0, **more):
        process, where = self.start(text, **more)
        try:
            out, err = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == expect, f"exit {process.returncode}\n{out}\n{err}"
        dump = Dump(where)
        dump.out, dump.err = out, err
        return dump


@pytest.fixture
def opdump(tmp_path):
    return Runner(tmp_path)
