"""Models of the example's exporter, made once; runs of `opdump run MODEL.onnx`; dumps as arrays."""
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPDUMP = os.environ["OPDUMP_BIN"]


def export(directory, *names):
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", directory, *names], check=True, capture_output=True)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    export(directory)
    return directory


class Run:
    """A run of models in a directory of its own."""

    def __init__(self, directory):
        self.directory = directory
        self.rank = directory / "dump/rank_0"

    def config(self, **settings):
        common = {"dump_mode": 0, "path": str(self.directory / "dump"), "net_name": "net", "iteration": "all", "saved_data": "full",
                  "input_output": 0} | settings
        path = self.directory / "data_dump.json"
        path.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}))
        return path

    def run(self, *args, status=0, limit=None, settings=None, **environment):
        env = os.environ | {"OPDUMP_EXISTING": "append"} | environment | ({"OPDUMP_MEMORY_LIMIT": limit} if limit else {})
        done = subprocess.run([OPDUMP, "run", "--config", self.config(**(settings or {})), *map(str, args)], text=True,
                              capture_output=True, env=env, cwd=self.directory, timeout=300)
        assert done.returncode == status, done.stderr
        return done.stderr

    def model(self, models, name, *args, **more):
        return self.run(models / f"{name}.onnx", "--input-dir", models / name, "--output-dir", self.directory / "out", *args, **more)

    def tensors(self, model=1, execution=0):
        """{(operator, "output.0"): array} of one execution; operators by the names of files."""
        found = {}
        for path in (self.rank / f"net/{model}/{execution}").glob("*.npy"):
            name, slot = re.fullmatch(r"[^.]+\.(.+)\.0\.0\.\d+\.((?:in|out)put\.\d+)\.DefaultFormat\.\w+\.npy", path.name).groups()
            found[name, slot] = np.load(path)
        return found

    def output(self, model, name, execution=0):
        return np.load(self.directory / "out" / model / str(execution) / f"{name}.npy")

    def log(self):
        return [json.loads(line) for line in (self.rank / "operators.jsonl").read_text().splitlines()]


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)
