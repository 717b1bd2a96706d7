"""Operators of an eager run and those of torch.compile: `compare --pair-by operators` pairs them by what they compute."""

import json

import pytest
from recording import OPDUMP, PROGRAMS, PYTHON, command, needs_torch, record, require_torch, run

pytestmark = needs_torch


@pytest.mark.parametrize("network", ["transformer", "unet"])
def test_eager_against_compiled(network, tmp_path):
    for how in ("eager", "compiled"):
        record(tmp_path, "compiled_networks", network, how, dump=how)
    done = run([OPDUMP, "compare", "eager", "compiled", "--pair-by", "operators", "--json", "--all"], tmp_path)
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
    done = run([OPDUMP, "compare", "eager", "compiled", "--pair-by", "operators"], tmp_path)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout[-2000:] + done.stderr


def test_a_dropout_that_one_run_has_in_compiled_blocks_is_named(tmp_path):
    """Random numbers that were drawn later differ because of it, and are not to blame."""
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    for fault, reader in (("missing", "add-op1"), ("moved", "_softmax-op0")):
        record(tmp_path, "dropouts", "parts", fault, dump=fault)
        done = run([OPDUMP, "blame", "eager", fault, "--json", "--python", PYTHON], tmp_path)
        found = json.loads(done.stdout)["findings"][0]
        assert found["operator"].startswith("Default/1-Block/drop-Dropout/") and found["step"] == 0, (fault, found)
        assert f"Default/1-Block/{reader} reads what it makes" in found["why"], (fault, found)


def test_another_p_of_a_dropout_is_named(tmp_path):
    """An eager run has bernoulli_ and div_ for it, a compiled one native_dropout and its backward pass."""
    require_torch(PROGRAMS / "dropouts.py")
    for how, fault in (("eager", "none"), ("eager", "other"), ("parts", "none"), ("parts", "other")):
        record(tmp_path, "dropouts", how, fault, dump=f"{how}_{fault}")
    for golden, actual, operator, why in (
            ("eager", "parts", "native_dropout-op0", "dropout p is 0.1 in golden and 0.4 in actual"),
            ("parts", "parts", "native_dropout-op0", "p is 0.1 in golden and 0.4 in actual"),
            ("eager", "eager", "bernoulli_-op0", "p is 0.9 in golden and 0.6 in actual")):
        dumps = f"{golden}_none", f"{actual}_other"
        name = f"Default/1-Block/drop-Dropout/{operator}"
        last = run([OPDUMP, "compare", *dumps], tmp_path).stdout.splitlines()[-1]
        assert last.startswith(f"first bad operator: {name} ") and why in last, last
        done = run([OPDUMP, "blame", *dumps, "--json", "--python", PYTHON], tmp_path)
        certain = [(found["operator"], found["why"]) for found in json.loads(done.stdout)["findings"] if found["confidence"] == "certain"]
        assert certain == [(name, why)], certain


def test_random_numbers_of_generated_kernels_are_no_wrong_operator(tmp_path):
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    opaque = {"dump": "opaque", "options": ["--compiled", "opaque"]}
    record(tmp_path, "dropouts", "compiled", "none", **opaque)
    why = "to compare, record it again with torch._inductor.config.fallback_random = True"
    for dumps in (("eager", "opaque"), ("opaque", "eager")):
        compared = run([OPDUMP, "compare", *dumps], tmp_path).stdout.splitlines()[-1]
        assert compared.startswith("first bad operator: Default/compiled_") and compared.endswith(why), compared
        done = run([OPDUMP, "blame", *dumps, "--json", "--python", PYTHON], tmp_path)
        found, = json.loads(done.stdout)["findings"]
        assert found["type"].startswith("compiled_") and found["cause"] == "random" and found["why"].endswith(why), found


def test_regions_with_the_results_of_an_eager_run_are_no_difference(tmp_path):
    """Their gradients are those of no recorded operator; the random numbers are those of an eager run."""
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    for fault in ("none", "other"):
        record(tmp_path, "dropouts", "fallback", fault, dump=fault, options=["--compiled", "opaque"])
    for golden, actual, regions_of, other in (("eager", "none", "actual", "golden"), ("none", "eager", "golden", "actual")):
        done = run([OPDUMP, "compare", golden, actual], tmp_path)
        assert done.returncode == 0 and f"note: {other} has the results of the compiled region of {regions_of}\n" in done.stdout, done.stdout
        assert f"note: the backward pass of compiled regions is not recorded in {regions_of}: " in done.stdout, done.stdout
        assert run([OPDUMP, "blame", golden, actual, "--python", PYTHON], tmp_path).returncode == 0
    record(tmp_path, "dropouts", "fallback", "gradient", dump="gradient", options=["--compiled", "opaque"])
    done = run([OPDUMP, "blame", "eager", "gradient", "--json", "--python", PYTHON], tmp_path)
    found = json.loads(done.stdout)["findings"][0]
    assert done.returncode == 1 and found["operator"].startswith("Default/optimizer-AdamW/") and found["step"] == 0, found
    for golden, actual, why in (("eager", "other", "a compiled region with a result that golden lacks"),
                                ("other", "eager", "a compiled region with a result that actual lacks"),
                                ("none", "other", "its inputs match, and it cannot be run again: the code of a compiled region is not in the dump")):
        last = run([OPDUMP, "compare", golden, actual], tmp_path).stdout.splitlines()[-1]
        assert last.startswith("first bad operator: Default/compiled_"), last
        done = run([OPDUMP, "blame", golden, actual, "--json", "--python", PYTHON], tmp_path)
        found, = json.loads(done.stdout)["findings"]
        assert found["type"].startswith("compiled_") and found["why"].startswith(why), found


def test_a_dropout_behind_another_weight_is_not_to_blame(tmp_path):
    """Each run has an operator of its own for it, which hands on what differs."""
    require_torch(PROGRAMS / "dropouts.py")
    record(tmp_path, "dropouts", "eager", "none", dump="eager")
    record(tmp_path, "dropouts", "compiled", "weight", dump="weight")
    done = run([OPDUMP, "blame", "eager", "weight", "--json", "--python", PYTHON], tmp_path)
    found = json.loads(done.stdout)["findings"][0]
    assert (found["operator"], found["step"]) == ("Default/mul_-op0", 0), found


@pytest.mark.parametrize("mode", ["aten", "opaque"])
def test_a_compiled_step_of_an_optimizer_ends_a_step(mode, tmp_path):
    """Compilers leave out what torch reports of it."""
    require_torch(PROGRAMS / "compiled_optimizer.py")
    record(tmp_path, "compiled_optimizer", "eager", dump="eager")
    for fault in ("none", "lr"):
        words = ["compiled_optimizer", "compiled", *([fault] if fault == "lr" else [])]
        done = record(tmp_path, *words, dump=fault, options=["--compiled", mode])
        assert "steps 0 to 2" in done.stderr and done.stdout == run(command(*words), tmp_path).stdout, done.stderr
    done = run([OPDUMP, "compare", "eager", "none"], tmp_path)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout
    done = run([OPDUMP, "blame", "eager", "lr", "--json", "--python", PYTHON], tmp_path)
    found = json.loads(done.stdout)["findings"][0]
    if mode == "aten":
        assert found["operator"].startswith("Default/optimizer-SGD/") and found["step"] == 0, found
    else:  # the kernels write the weights in place, and the next forward pass shows it
        assert found["type"].startswith("compiled_") and found["step"] == 1, found


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
