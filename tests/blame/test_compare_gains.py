"""opdump compare where dumps have only outputs, or only statistics: what grows as usual is rounding, and what grows more is named."""

import json
import subprocess

import pytest
from conftest import OPDUMP, fault, program
from test_gains import TANH, pair  # noqa: F401  (a fixture)

CHECKPOINTED = "x = torch.utils.checkpoint.checkpoint(lambda y: torch.sigmoid(y) * 2, x, use_reentrant=False)"


def compare(of, golden, actual, expect, *options):
    done = subprocess.run([OPDUMP, "compare", golden, actual, "--json", *options], cwd=of.directory, capture_output=True, text=True, timeout=600)
    assert done.returncode == expect, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def record_both(of, golden, actual, environment=None):
    return of.record_less("golden", golden, environment), of.record_less("actual", actual)


@pytest.mark.parametrize("golden, environment", [
    (program(), {"ATEN_CPU_CAPABILITY": "default"}),
    (program(weights="net.double()"), {}),
    (program(weights="net.bfloat16()"), {}),
    (program().replace("foreach=False", "foreach=True"), None),
    (program().replace("zero_grad()", "zero_grad(set_to_none=False)"), None),
], ids=["kernels", "float64", "bfloat16", "foreach", "zero_grad"])
def test_what_grows_as_usual_is_no_difference(pair, golden, environment):  # noqa: F811
    answer = compare(pair, *record_both(pair, golden, program(), environment), 0)
    assert answer["first_bad"] is None and answer["outcome"] == "same"


def test_tolerances_that_somebody_chose_count(pair):  # noqa: F811
    golden, actual = record_both(pair, program(weights="net.double()"), program())
    compare(pair, golden, actual, 0)
    compare(pair, golden, actual, 1, "--rtol", "1e-9")


def test_a_checkpoint_is_no_difference(pair):  # noqa: F811
    plain = program(before="import torch.utils.checkpoint", between="x = torch.sigmoid(x) * 2")
    compare(pair, *record_both(pair, plain, program(before="import torch.utils.checkpoint", between=CHECKPOINTED)), 0)


@pytest.mark.parametrize("environment", [{}, {"ATEN_CPU_CAPABILITY": "default"}], ids=["same", "kernels"])
def test_what_grows_more_is_named(pair, environment):  # noqa: F811
    answer = compare(pair, *record_both(pair, program(fault(*TANH, "pass")), program(fault(*TANH, "result = result * 1.01")), environment), 1)
    assert (answer["first_bad"]["operator"], answer["first_bad"]["verdict"]) == ("Default/tanh-op0", "own_error")
    assert any("output.0: " in note and " times more than without a fault" in note for note in answer["notes"])


def test_what_only_one_run_computes_is_named_if_it_matters(pair):  # noqa: F811
    answer = compare(pair, *record_both(pair, program(), program(between="x = torch.sin(x)")), 1)
    assert (answer["first_bad"]["operator"], answer["first_bad"]["verdict"]) == ("Default/sin-op0", "extra")


def test_an_update_that_one_run_skips_is_a_difference(pair):  # noqa: F811
    freeze = "net.b.bias.grad = net.b.bias.grad if x is data[0] else None"
    skipped = program().replace("update.step()", freeze + "; update.step()")
    answer = compare(pair, *record_both(pair, program(), skipped), 1)
    assert answer["first_bad"]["verdict"] == "missing" and answer["first_bad"]["phase"] == "optimizer"
