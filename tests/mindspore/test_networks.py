"""Eight networks in MindSpore and in PyTorch: nothing is said of equal ones, and faults of PyTorch's are named."""

import functools
import json
import os
import sys

import numpy as np
import pytest
from test_referee import OPDUMP, PROGRAMS, PYTHON, run

sys.path.insert(0, str(PROGRAMS))
from network_data import NAMES, STEPS

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no MindSpore from PyPI: tools/fetch_mindspore.sh")

TORCH = "/usr/bin/python3"
# What only moves data computes nothing.
IDLE = {"Reshape", "Transpose", "Cast", "Flatten", "ExpandDims", "BroadcastTo", "Concat", "Slice", "StridedSlice", "Split", "Parameter",
        "view", "t", "permute", "expand", "clone", "copy_", "detach", "_to_copy", "cat", "reshape", "transpose", "select"}
# Where PyTorch's operator is, and what the sentence says.
FAULTS = {
    "transformer": {"divisor": ("block-Block/attention-Attention/div", "2.9"), "eps": ("block-Block/norm2-LayerNorm/native_layer_norm", "")},
    "gru": {"state": ("cell-GRUCell/addmm-op1", ""), "weight:fc.weight": ("fc-Linear/addmm", "")},
    "unet": {"pool": ("pool-AvgPool2d/avg_pool2d", ""), "weight:up.weight": ("up-ConvTranspose2d/convolution", "")},
    "resnet": {"eps": ("layers-Sequential/1-Residual/bn1-BatchNorm2d/native_batch_norm", ""),
               "weight:fc.weight": ("fc-Linear/addmm", "")},
    "bag": {"sum": ("sum", ""), "weight:fc2.weight": ("fc2-Linear/addmm", "")},
    "mlp": {"eps": ("norm2-LayerNorm/native_layer_norm", ""), "gelu": ("gelu-op0", "")},
    "convbn": {"eps": ("bn-BatchNorm2d/native_batch_norm", ""), "rate": ("optimizer-SGD/add_", "")},
    "attention": {"mask": ("attention-Attention/mul", "-1"), "divisor": ("attention-Attention/div", "2.9")},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Records a network once: made(name), made(name, fault of PyTorch), made(name, None) for MindSpore."""
    directory = tmp_path_factory.mktemp("networks")

    @functools.cache
    def record(name, fault=""):
        dump = directory / f"{name}-{fault or ('mindspore' if fault is None else 'torch')}"
        words = [PYTHON, PROGRAMS / "networks.py", name] if fault is None else [TORCH, PROGRAMS / "networks_torch.py", name, fault]
        run([OPDUMP, "run", "-o", dump, "--steps", "all", "--", *words], directory)
        return dump

    return record


def compare(golden, actual, status):
    lines = [json.loads(line) for line in run([OPDUMP, "compare", golden, actual, "--json", "--all"], golden.parent, status).splitlines()]
    pairs = {(line["step"], line.get("actual_operator", line["operator"]).replace("/", "_")): line["operator"] for line in lines[:-1]
             if "confidence" in line}
    return lines[-1], pairs


def results(dump, step):
    """The sorted elements of the first output of each operator that computes something, by the operator's name in file names."""
    found = {}
    for file in sorted((dump / "rank_0").glob(f"*/*/{step}/*.output.0.*.npy")):
        kind, name = file.name.split(".")[0], file.name.rsplit(".", 8)[0].partition(".")[2]
        values = np.sort(np.load(file).astype(np.float64), axis=None)
        if kind not in IDLE and values.size > 3 and values[0] != values[-1]:
            found[name] = values
    return found


def is_same(a, b):
    return a.size == b.size and np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b)


@pytest.mark.parametrize("name", NAMES)
def test_equal_networks(made, name):
    torch, mindspore = made(name), made(name, None)
    for golden, actual in (torch, mindspore), (mindspore, torch):
        done, pairs = compare(golden, actual, 0)
        assert done["first_bad"] is None
        if golden == mindspore:
            continue
        comparable = paired = 0
        for step in range(STEPS):
            ours = list(results(torch, step).values())
            for operator, values in results(mindspore, step).items():
                if any(is_same(values, other) for other in ours):
                    comparable += 1
                    paired += (step, operator) in pairs
        print(f"{name}: {paired} of {comparable} comparable operators are paired, {done['paired_operators']} in all")
        assert comparable > 5 and paired >= 0.9 * comparable


@pytest.mark.parametrize("name, fault", [(name, fault) for name in NAMES for fault in FAULTS[name]])
def test_faults_are_named(made, name, fault):
    done, _ = compare(made(name, fault), made(name, None), 1)
    operator, words = FAULTS[name][fault]
    assert operator in done["first_bad"]["operator"] and words in done["text"], done["text"]
