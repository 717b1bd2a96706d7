"""Known networks: what ONNX Runtime computes operator by operator is what PyTorch computes."""
import csv
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import Run

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/onnx"
COLUMNS = ["max", "min", "avg", "l2norm"]
# Operators whose outputs both have, under the names of each.
TYPES = {"Conv": "convolution", "Relu": "relu", "MaxPool": "max_pool2d_with_indices", "Add": "add", "GlobalAveragePool": "mean",
         "Gemm": "addmm"}

# Batch normalisation is folded into the convolutions, as the exporter does, so that both compute the same.
EXPORT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy, torch, export_models
from torch.nn.utils.fusion import fuse_conv_bn_eval
network, example = export_models.vision(sys.argv[2], size=int(sys.argv[3]))
network.eval()
for module in list(network.modules()):
    children = dict(module.named_children())
    for name, child in children.items():
        if isinstance(child, torch.nn.BatchNorm2d):
            before = "conv" + name[2:] if name.startswith("bn") else "0"
            setattr(module, before, fuse_conv_bn_eval(children[before], child))
            setattr(module, name, torch.nn.Identity())
torch.onnx.export(network, example, "network.onnx", input_names=["data"], output_names=["scores"], opset_version=13)
torch.save((network, example), "network.pt")
numpy.save("data.npy", example.numpy())
"""
INFER = """
import torch
network, example = torch.load("network.pt")
with torch.no_grad():
    network(example)
"""


def rows_by_type(step):
    """First outputs, by operator type, in order of execution."""
    found = {}
    with open(step / "statistic.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["IO"] == "output" and row["Slot"] == "0":
                found.setdefault(row["Op Type"].rstrip("_"), []).append(row)
    return found


@pytest.mark.parametrize("name, size, count", [("alexnet", 224, 18), ("resnet50", 32, 121)])
def test_statistics_of_both(tmp_path, name, size, count):
    subprocess.run([sys.executable, "-c", EXPORT, EXAMPLE, name, str(size)], check=True, cwd=tmp_path, capture_output=True)
    run = Run(tmp_path)
    settings = {"saved_data": "statistic", "statistic_category": COLUMNS, "input_output": 2}
    run.run(tmp_path / "network.onnx", "--input", f"data={tmp_path}/data.npy", settings=settings)
    (tmp_path / "infer.py").write_text(INFER)
    config = run.config(path=str(tmp_path / "torch"), iteration="0", **settings)
    subprocess.run([os.environ["OPDUMP_BIN"], "run", "--config", config, "--", sys.executable, "infer.py"], check=True, cwd=tmp_path,
                   capture_output=True)
    for large in ("network.pt", "network.onnx"):
        (tmp_path / large).unlink()
    ours, theirs = rows_by_type(run.rank / "net/1/0"), rows_by_type(tmp_path / "torch/rank_0/net/0/0")
    compared = 0
    for type_of_onnx, type_of_torch in TYPES.items():
        mine, others = ours.get(type_of_onnx, []), theirs.get(type_of_torch, [])
        assert len(mine) == len(others), (type_of_onnx, {key: len(rows) for key, rows in theirs.items()})
        for a, b in zip(mine, others):
            assert a["Shape"] == b["Shape"], (type_of_onnx, compared)
            scale = float(b["L2Norm Value"]) or 1
            for column in ("Max Value", "Min Value", "Avg Value", "L2Norm Value"):
                assert float(a[column]) == pytest.approx(float(b[column]), rel=1e-3, abs=1e-4 * scale), (a["Op Name"], column)
            compared += 1
    assert compared == count
