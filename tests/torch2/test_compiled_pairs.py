"""Operators of an eager run and those of torch.compile: `compare --across` pairs them by what they compute."""

import json

import pytest
from recording import OPDUMP, needs_torch, record, run

pytestmark = needs_torch


@pytest.mark.parametrize("network", ["transformer", "unet"])
def test_eager_against_compiled(network, tmp_path):
    for how in ("eager", "compiled"):
        record(tmp_path, "compiled_networks", network, how, dump=how)
    done = run([OPDUMP, "compare", "eager", "compiled", "--across", "--json", "--all"], tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    slots = [entry for entry in map(json.loads, done.stdout.splitlines()) if entry["record"] == "slot"]
    partners = {slot["operator"]: slot.get("actual_operator", slot["operator"]) for slot in slots if "confidence" in slot}
    # What computes something and has a result in the eager run is paired, and with an operator that has the same result.
    computing = {slot["operator"] for slot in slots if slot["slot"].startswith("output")
                 and any(kind in slot["operator"] for kind in ("convolution", "batch_norm", "layer_norm", "addmm", "bmm", "softmax"))}
    assert len(computing) > 30 and len(computing & set(partners)) >= 0.95 * len(computing), computing - set(partners)
    wrong = [slot for slot in slots if "confidence" in slot and slot["confidence"] >= 0.75
             and slot["slot"].startswith("output") and slot["verdict"] not in ("match", "rounding", "skipped")]
    assert not wrong, wrong[:3]


def test_the_workspace_of_a_recurrent_layer_is_no_result(tmp_path):
    """It is memory that its kernel writes in part."""
    for how in ("eager", "compiled"):
        record(tmp_path, "compiled_networks", "lstm", how, dump=how)
    done = run([OPDUMP, "compare", "eager", "compiled", "--across"], tmp_path)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout[-2000:] + done.stderr
