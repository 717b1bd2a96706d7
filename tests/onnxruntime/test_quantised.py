"""A model in float32 against the same model quantised by onnxruntime.quantization."""

import json
import os
import pathlib
import subprocess

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NEWEST = subprocess.run([ROOT / "tools/fetch_torch.sh", "--where"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    if not os.access(NEWEST, os.X_OK) or subprocess.run([NEWEST, "-c", "import onnxruntime.quantization"], capture_output=True).returncode:
        pytest.skip("no onnxruntime from PyPI: tools/fetch_torch.sh")
    subprocess.run([NEWEST, ROOT / "tests/onnxruntime/quantise.py", directory], check=True, capture_output=True, timeout=300)
    for model in ("float", "int8", "wrong"):
        done = subprocess.run([OPDUMP, "run", "-o", directory / model, directory / f"{model}.onnx", "--input",
                               f"images={directory / 'images.npy'}"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return directory


def compare(dumps, golden, actual, *options):
    done = subprocess.run([OPDUMP, "compare", dumps / golden, dumps / actual, "--json", "--all", *options], capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, records[:-1], records[-1]


@pytest.mark.parametrize("pair", [("float", "int8"), ("int8", "float")])
def test_quantisation_is_rounding(dumps, pair):
    status, slots, summary = compare(dumps, *pair)
    assert status == 0, summary["text"]
    assert summary["paired_operators"] == 9  # all of the model in float32
    reasons = [slot.get("reason", "") for slot in slots if slot["operator_verdict"] == "rounding" and slot["slot"].startswith("output")]
    assert len(reasons) == 9 and all("steps of" in reason for reason in reasons)
    # quantising does what the activation does, and is its partner
    partners = {slot["operator"]: slot.get("actual_operator") for slot in slots if slot["paired_by"] == "data flow"}
    expected = {"/relu1/Relu": "r1_DequantizeLinear", "/relu2/Relu": "r2_DequantizeLinear"}
    assert partners == (expected if pair[0] == "float" else {actual: golden for golden, actual in expected.items()})


def test_a_wrong_scale_is_found(dumps):
    status, slots, summary = compare(dumps, "float", "wrong")
    assert status == 1
    assert summary["first_bad"]["operator"] == "/relu2/Relu", summary["text"]
    assert any(slot.get("actual_operator") == "r2_DequantizeLinear" and slot["verdict"] == "own_error" for slot in slots)


def test_frameworks_may_differ(dumps):
    status, _, summary = compare(dumps, "float", "int8", "--across")
    assert status == 0, summary["text"]
    assert summary["paired_operators"] >= 6
