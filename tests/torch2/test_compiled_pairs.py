"""Operators of an eager run and those of torch.compile: `compare --across` pairs them by what they compute."""

import json

import pytest
from recording import OPDUMP, PROGRAMS, PYTHON, needs_torch, record, require_torch, run

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


def test_a_dropout_that_one_run_has_in_compiled_blocks_is_named(tmp_path):
    """Random numbers that were drawn later differ because of it, and are not to blame."""
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    for fault, reader in (("missing", "add-op1"), ("other", "add-op1"), ("moved", "_softmax-op0")):
        record(tmp_path, "dropouts", "parts", fault, dump=fault)
        done = run([OPDUMP, "blame", "eager", fault, "--json", "--python", PYTHON], tmp_path)
        found = json.loads(done.stdout)["findings"][0]
        assert found["operator"].startswith("Default/1-Block/drop-Dropout/") and found["step"] == 0, (fault, found)
        assert f"Default/1-Block/{reader} reads what it makes" in found["why"], (fault, found)


def test_random_numbers_of_generated_kernels_are_no_wrong_operator(tmp_path):
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    opaque = {"dump": "opaque", "options": ["--compiled", "opaque"]}
    record(tmp_path, "dropouts", "compiled", "none", **opaque)
    why = "to compare, record it again with torch._inductor.config.fallback_random = True"
    compared = run([OPDUMP, "compare", "eager", "opaque"], tmp_path).stdout.splitlines()[-1]
    assert compared.startswith("first bad operator: Default/compiled_") and compared.endswith(why), compared
    done = run([OPDUMP, "blame", "eager", "opaque", "--json", "--python", PYTHON], tmp_path)
    found, = json.loads(done.stdout)["findings"]
    assert found["type"].startswith("compiled_") and found["cause"] == "random" and found["why"].endswith(why), found


def test_a_backward_pass_that_is_not_recorded_changes_no_memory(tmp_path):
    """Its gradients are those of no recorded operator; the random numbers are those of an eager run."""
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    why = "only in actual, and Default/pow-op0 reads what it makes"
    for fault, reasons in (("none", []), ("other", [why])):
        record(tmp_path, "dropouts", "fallback", fault, dump=fault, options=["--compiled", "opaque"])
        done = run([OPDUMP, "blame", "eager", fault, "--json", "--python", PYTHON], tmp_path)
        found = json.loads(done.stdout)["findings"]
        assert [finding["why"] for finding in found if finding["type"].startswith("compiled_")] == reasons, (fault, found)
        assert len(found) == len(reasons), (fault, found)


@pytest.mark.parametrize("mode, fault, difference", [
    ("train", "eps", "eps is 1e-05 in golden and 0.01 in actual"),
    ("train", "momentum", "momentum is 0.1 in golden and 0.9 in actual"),
    ("eval", "eps", "eps is 1e-05 in golden and 0.01 in actual"),
])
def test_a_compiled_batch_norm_is_that_of_the_eager_run(mode, fault, difference, tmp_path):
    """It is another operator, which writes to none of its inputs."""
    require_torch(PROGRAMS / "batch_norm.py")
    for how, other in (("eager", ()), ("compiled", ()), ("compiled", (fault,))):
        record(tmp_path, "batch_norm", how, mode, *other, dump="".join((how, *other)))
    done = run([OPDUMP, "compare", "eager", "compiled"], tmp_path)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout
    norm = "Default/1-BatchNorm2d/native_batch_norm-op0"
    last = run([OPDUMP, "compare", "eager", "compiled" + fault], tmp_path).stdout.splitlines()[-1]
    assert last.startswith(f"first bad operator: {norm} ") and difference in last, last
    found = json.loads(run([OPDUMP, "blame", "eager", "compiled" + fault, "--json", "--python", PYTHON], tmp_path).stdout)["findings"][0]
    assert found["operator"] == norm and difference in found["why"], found
