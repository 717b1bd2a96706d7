"""Products of groups, as mixtures of experts compute them: torch has no kernel for them in float64, opdump has a reference."""

import json
import textwrap

import pytest
from recording import OPDUMP, PYTHON, needs_torch, run

pytestmark = needs_torch

PROGRAM = """
import sys
import torch

if not hasattr(torch, "_grouped_mm"):
    sys.exit(7)
torch.manual_seed(0)
kind = torch.bfloat16 if "bfloat16" in sys.argv else torch.float32
x = torch.randn(24, 16).to(kind).requires_grad_()
experts = torch.randn(3, 16, 32).to(kind).requires_grad_()
ends = torch.tensor([8, 8, 24], dtype=torch.int32)
y = torch._grouped_mm(x, experts, offs=ends)
if "wrong" in sys.argv:
    y.data.view(-1)[5:6].numpy()[0] *= 1.01
y.tanh().sum().backward()
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("experts")
    (directory / "experts.py").write_text(textwrap.dedent(PROGRAM))
    for name, *arguments in (("golden",), ("bfloat16", "bfloat16"), ("wrong", "wrong")):
        done = run([OPDUMP, "run", "-o", name, "--", PYTHON, "experts.py", *arguments], directory)
        if done.returncode == 7:
            pytest.skip("this torch has no _grouped_mm")
        assert done.returncode == 0, done.stderr
    return directory


def test_they_run_again(runs):
    done = run([OPDUMP, "blame", "golden", "bfloat16", "--python", PYTHON, "--json"], runs)
    answer = json.loads(done.stdout)
    assert (answer["outcome"], answer["not_replayed"]) == ("rounding", []), done.stdout
    # Forward once, backward for both inputs: groups of rows and of terms.
    functions = [json.loads(line).get("function") for line in open(runs / "golden/rank_0/operators.jsonl")]
    assert functions.count("aten::_grouped_mm") == 3


def test_a_script_reproduces_them(runs):
    done = run([OPDUMP, "reproduce", "golden", "_grouped_mm-op0", "-o", "script.py", "--python", PYTHON], runs)
    assert done.returncode == 0, done.stderr
    done = run([PYTHON, "script.py"], runs)
    assert done.returncode == 0 and "output.0 recorded: relative error " in done.stdout, done.stdout + done.stderr
