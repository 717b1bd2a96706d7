"""A dump that was asked for a part of a program, beside a whole one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAM = """
import sys, torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, eps=1e-2 if "eps" in sys.argv else 1e-5), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    net(torch.randn(2, 1, 8, 8)).square().mean().backward()
    optimizer.step()
print(float(net[4].weight.detach().sum()))
"""


def record(directory, name, options=(), arguments=(), settings=None):
    """With options of the command line, or with a data_dump.json."""
    (directory / "train.py").write_text(PROGRAM)
    if settings is not None:
        common = {"dump_mode": 1, "path": str(directory / name), "net_name": "net", "iteration": "all", **settings.pop("common", {})}
        config = directory / f"{name}.json"
        config.write_text(json.dumps({"common_dump_settings": common, **settings}))
        options = ["--config", config, *options]
    else:
        options = ["-o", name, "--steps", "all", *options]
    done = subprocess.run([OPDUMP, "run", *options, "--", sys.executable, "train.py", *arguments], cwd=directory, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def compare(directory, golden, actual):
    done = subprocess.run([OPDUMP, "compare", golden, actual, "--json", "--all"], cwd=directory, capture_output=True, text=True,
                          timeout=600)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, lines[-1], lines[:-1]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """With the whole dump, and one of the program with a fault."""
    made = tmp_path_factory.mktemp("filtered")
    record(made, "whole")
    record(made, "fault", arguments=["eps"])
    return made


FILTERS = {
    "ops": {"options": ["--ops", "conv|norm"]},
    "module": {"options": ["--module", "1|4"]},
    "ops_and_module": {"options": ["--ops", "norm", "--module", "1"]},
    "kernels": {"settings": {"common": {"kernels": ["BatchNorm", "MatMul"]}, "e2e_dump_settings": {"enable": True}}},
    "regex": {"settings": {"common": {"kernels": ["name-regex(.+BatchNorm2d/.+)"]}, "e2e_dump_settings": {"enable": True}}},
    "name": {"settings": {"common": {"kernels": ["Default/1-BatchNorm2d/native_batch_norm-op0"]}}},
    "o2": {"settings": {"common": {"kernels": ["name-regex(BatchNorm)"]}}},
    "cpu": {"options": ["--mode", "cpu"], "settings": {"common": {"kernels": ["native_batch_norm"]}, "e2e_dump_settings": {"enable": True}}},
    "inputs": {"settings": {"common": {"dump_mode": 0, "input_output": 1}, "e2e_dump_settings": {"enable": True}}},
    "outputs": {"settings": {"common": {"dump_mode": 0, "input_output": 2}, "e2e_dump_settings": {"enable": True}}},
}


@pytest.mark.parametrize("name", FILTERS)
def test_what_a_filter_leaves_out_is_no_difference(directory, name):
    record(directory, name, **json.loads(json.dumps(FILTERS[name])))
    for golden, actual in ("whole", name), (name, "whole"):
        status, summary, rows = compare(directory, golden, actual)
        assert status == 0 and summary["compared_tensors"] > 0, (golden, actual, summary["text"], summary["notes"])
        assert any(note.endswith("left out") for note in summary["notes"]), summary["notes"]
        assert not [row for row in rows if row.get("verdict") in ("missing", "extra")]


@pytest.mark.parametrize("name", ["ops", "module", "kernels", "outputs"])
def test_a_fault_in_a_part_is_found(directory, name):
    if not (directory / name).exists():
        record(directory, name, **json.loads(json.dumps(FILTERS[name])))
    status, summary, _ = compare(directory, name, "fault")
    assert status == 1 and "eps is 1e-05 in golden and 0.01 in actual" in summary["text"], summary["text"]


def test_what_was_asked_for_and_is_absent_is_a_difference(directory, tmp_path):
    record(tmp_path, "part", ["--ops", "conv|norm"])
    for file in (tmp_path / "part").rglob("convolution.Default_0-Conv2d_*"):
        file.unlink()
    shutil.copytree(directory / "whole", tmp_path / "whole")
    status, summary, rows = compare(tmp_path, "whole", "part")
    rules = {row["operator"]: row.get("rule") for row in rows}
    left_out = "operator-left-out"  # because the other dump was not to have it
    assert status != 0 and rules["Default/0-Conv2d/convolution-op0"] != left_out, summary
    assert rules["Default/2-ReLU/relu-op0"] == left_out


def test_what_the_program_chose_says_nothing_of_the_rest(tmp_path):
    """set_dump() chooses what no configuration names."""
    record(tmp_path, "whole")
    marked = PROGRAM.replace("optimizer =", "import opdump\nopdump.set_dump(net[1])\noptimizer =", 1)
    (tmp_path / "marked.py").write_text(marked)
    config = {"common_dump_settings": {"dump_mode": 2, "path": str(tmp_path / "marked"), "net_name": "net", "iteration": "all"},
              "e2e_dump_settings": {"enable": True}}
    (tmp_path / "marked.json").write_text(json.dumps(config))
    done = subprocess.run([OPDUMP, "run", "--config", "marked.json", "--", sys.executable, "marked.py"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    status, summary, _ = compare(tmp_path, "whole", "marked")
    assert status == 0 and "set_dump()" in " ".join(summary["notes"]), summary
