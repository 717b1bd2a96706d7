"""Two runs of a real training, compared: the way the tool is used."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import OPDUMP

TRAIN = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/digits/train.py"


def train(opdump, fault="none", **settings):
    return opdump.run(f"""
        import runpy, sys
        sys.argv = ["train.py", "--steps", "2", "--fault", "{fault}"]
        runpy.run_path({str(TRAIN)!r}, run_name="__main__")
    """, iteration="0", **settings)


def compare(golden, actual, *options):
    return subprocess.run([OPDUMP, "compare", golden.path.parent, actual.path.parent, *options], capture_output=True, text=True)


@pytest.mark.parametrize("saved_data", ["tensor", "statistic", "full"])
def test_two_equal_runs_match(opdump, saved_data):
    result = compare(train(opdump, saved_data=saved_data), train(opdump, saved_data=saved_data))
    assert result.returncode == 0, result.stdout
    assert result.stdout.splitlines()[-1].startswith("no difference: ")


@pytest.mark.parametrize("saved_data", ["tensor", "statistic"])
def test_a_wrong_epsilon_is_found(opdump, saved_data):
    golden = train(opdump, saved_data=saved_data)
    result = compare(golden, train(opdump, fault="epsilon", saved_data=saved_data))
    assert result.returncode == 1
    last = result.stdout.splitlines()[-1]
    assert last.startswith("first bad operator: Default/norm2-BatchNorm2d/native_batch_norm-op0 (forward, step 0) at ")
    assert "train.py:33 — eps is 1e-05 in golden and 0.001 in actual, output differs" in last


def test_a_layer_in_lower_precision_is_found(opdump, tmp_path):
    golden, actual = train(opdump, saved_data="tensor"), train(opdump, fault="precision", saved_data="tensor")
    result = compare(golden, actual, "--csv", str(tmp_path / "result.csv"))
    assert result.returncode == 1
    assert "first bad operator: Default/conv2-Conv2d/convolution-op0" in result.stdout.splitlines()[-1]
    assert "Default/conv2-Conv2d/convolution-op0" in (tmp_path / "result.csv").read_text()
    records = [json.loads(line) for line in compare(golden, actual, "--json", "--all").stdout.splitlines()]
    assert records[-1]["record"] == "summary" and records[-1]["first_bad"]["operator"].startswith("Default/conv2")
    assert all(record["schema_version"] == 1 for record in records)


def test_tensors_against_statistics(opdump):
    result = compare(train(opdump, saved_data="tensor"), train(opdump, saved_data="statistic"))
    assert result.returncode == 0, result.stdout


def test_nothing_in_common_is_not_a_success(opdump):
    a = opdump.run("import torch; torch.ones(3).neg()")
    b = opdump.run("print('no torch')")
    assert compare(a, b).returncode == 3


def test_long_names(opdump):
    dump = opdump.run(f"""
        import torch
        class {'A' * 120}(torch.nn.Module):
            def __init__(self, inner=None):
                super().__init__()
                self.inner = inner
            def forward(self, x):
                return self.inner(x) if self.inner else x.neg()
        A = {'A' * 120}
        A(A(A(A())))(torch.ones(2))
    """)
    mapping = (dump.path / "net/0/0/mapping.csv").read_text().splitlines()
    short, original = next(line.split(",", 1) for line in mapping if ".output.0." in line)
    assert np.load(dump.path / "net/0/0" / short).tolist() == [-1, -1]
    assert original.startswith("neg.Default_inner-") and len(original) > 255
    show = subprocess.run([OPDUMP, "show", dump.path.parent, "--op", "neg-op0"], capture_output=True, text=True)
    assert show.returncode == 0 and short in show.stdout and "[-1 -1]" in show.stdout
