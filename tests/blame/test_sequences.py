"""Programs that run other operators: in another order, one more or less, or others that compute the same."""

import subprocess

from conftest import OPDUMP, program


def test_a_module_without_a_gradient_is_named(pair):
    layer = "net.c = torch.nn.Linear(64, 64)"
    golden = pair.record("golden", program(between="x = x + torch.relu(self.c(x))", weights=layer))
    actual = pair.record("actual", program(between="x = x + torch.relu(self.c(x)).detach()", weights=layer))
    why = "only in {}, like the whole backward pass of Default/c-Linear: no gradient reaches it in {}"
    for runs, sides in (((golden, actual), ("golden", "actual")), ((actual, golden), ("actual", "golden"))):
        found = pair.culprit(*runs)
        assert (found["operator"], found["step"]) == ("Gradients/Default/c-Linear/mm-op0", 0)
        assert (found["cause"], found["confidence"], found["why"]) == ("sequence", "certain", why.format(*sides))
        last = pair.run("compare", *runs).stdout.splitlines()[-1]
        assert last.startswith("first bad operator: Gradients/Default/c-Linear/mm-op0 (backward, step 0) at train.py:")
        assert last.endswith(why.format(*sides))


def test_a_module_that_is_computed_again_has_its_gradient(pair):
    block = """
    from torch.utils.checkpoint import checkpoint
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(64, 64)
        def forward(self, x):
            return x + self.inner(x)
    """
    layer = "net.c = Block()"
    golden = pair.record("golden", program(before=block, between="x = self.c(x)", weights=layer))
    again = "x = checkpoint(self.c, x, use_reentrant=False); x = x * 1.5"
    found = pair.culprit(golden, pair.record("actual", program(before=block, between=again, weights=layer)))
    assert found["operator"].startswith("Default/mul-op") and found["phase"] == "forward", found


def test_a_norm_behind_a_block_instead_of_before_is_named(pair):
    layer = "net.c, net.d = torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)"
    golden = pair.record("golden", program(between="x = x + self.c(self.d(x))", weights=layer))
    found = pair.culprit(golden, pair.record("actual", program(between="x = self.d(x + self.c(x))", weights=layer)))
    assert found["cause"] == "sequence" and "made as input.0, in golden what" in found["why"], found


# Attention: views, the same norms of all data, and a mask of infinities.
EVALUATED = """
import sys
import torch
torch.manual_seed(1)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.end = torch.nn.LayerNorm(32), torch.nn.Linear(32, 96), torch.nn.Linear(32, 3)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(4, 8, 3, 32).permute(2, 0, 1, 3).unbind(0)
        future = ~torch.ones(8, 8).tril().bool()
        return self.end(torch.softmax((q @ k.transpose(1, 2)).masked_fill(future, -torch.inf), -1) @ v)

net, data = Net(), [torch.randn(4, 8, 32) for _ in range(4)]
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(2):
    net(data[step]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if {evaluates}:
        with torch.no_grad():
            print(float(net(data[step + 2]).square().mean()))
"""


def test_an_evaluation_in_one_run_is_no_difference(pair):
    """Nothing reads it within a step; behind the last one, nothing of the other run says what is right."""
    golden = pair.record("golden", EVALUATED.format(evaluates=False))
    actual = pair.record("actual", EVALUATED.format(evaluates=True))
    done = pair.run("compare", golden, actual)
    assert done.returncode == 3, done.stdout
    assert "operators after the last step are only in actual" in done.stdout
    assert not pair.blame(golden, actual, 3)["findings"]


def test_another_optimizer_is_a_difference(pair):
    golden = pair.record("golden", program(), steps="0")
    actual = pair.record("actual", program().replace("optim.Adam(", "optim.NAdam("), steps="0")
    found = pair.culprit(golden, actual)
    assert found["cause"] == "sequence" and found["confidence"] == "suspect" and found["phase"] == "optimizer", found


def test_a_copy_more_is_no_difference_and_shifts_nothing(pair):
    both = "x = F.relu(x.clone()).clone()"
    golden = pair.record("golden", program(between=both))
    actual = pair.record("actual", program(between="x = x.clone(); " + both))
    assert pair.blame(golden, actual, 0)["outcome"] == "same"
    done = subprocess.run([OPDUMP, "compare", golden, actual], cwd=pair.directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "paired by shapes and neighbours, because one run has more of the same name" in done.stdout


def test_a_second_relu_is_no_difference(pair):
    golden = pair.record("golden", program(between="x = F.relu(x - 0.1)"))
    actual = pair.record("actual", program(between="x = F.relu(F.relu(x - 0.1))"))
    assert pair.blame(golden, actual, 0)["outcome"] == "same"
    done = subprocess.run([OPDUMP, "compare", golden, actual], cwd=pair.directory, capture_output=True, text=True)
    assert done.returncode == 0 and "in one run only, and the other run has the results, or nothing reads them: no difference" in done.stdout, done.stdout


def test_attention_that_is_computed_in_another_way_is_no_difference(pair):
    golden = pair.record("golden", program(between="w = x.view(32, 4, 16).transpose(0, 1).contiguous(); x = torch.bmm("
                         "w, torch.softmax(torch.bmm(w.transpose(1, 2), w), -1)).transpose(0, 1).reshape(32, 64)"))
    actual = pair.record("actual", program(between="w = x.view(32, 4, 16).permute(1, 2, 0).contiguous().clone(); x = torch.bmm("
                         "w.transpose(1, 2), torch.softmax(torch.bmm(w, w.transpose(1, 2)), -1)).transpose(0, 1).reshape(32, 64)"))
    done = subprocess.run([OPDUMP, "compare", golden, actual], cwd=pair.directory, capture_output=True, text=True)
    assert done.returncode == 0 and "in one run only, and the other run has the results, or nothing reads them: no difference" in done.stdout, done.stdout


def test_scores_that_are_scaled_later_are_no_difference(pair):
    # One run scales what the product reads, the other what it makes; half of it, so that nothing is rounded.
    golden = pair.record("golden", program(between="x = torch.softmax((x * 0.5) @ x.t(), 1) @ x"))
    later = "x = torch.softmax((x @ x.t()) / {}, 1) @ x"
    actual = pair.record("actual", program(between=later.format(2)))
    assert pair.blame(golden, actual, 0)["findings"] == []
    wrong = pair.culprit(golden, pair.record("wrong", program(between=later.format(3))))
    assert (wrong["cause"], wrong["confidence"]) == ("sequence", "suspect")


def test_another_activation_of_several_operators_is_named(pair):
    # Multiplications that are paired by their number have other constants, because they are others.
    net = "net.act = {}"
    classes = """
    class Rough(torch.nn.Module):
        def forward(self, x): return 0.5 * x * (1.0 + torch.tanh(0.8 * x))
    class Smooth(torch.nn.Module):
        def forward(self, x): return torch.sin(x) * 1.01
    """
    golden = pair.record("golden", program(before=classes, between="x = self.act(x)", weights=net.format("Rough()")))
    actual = pair.record("actual", program(before=classes, between="x = self.act(x)", weights=net.format("Smooth()")))
    found = pair.culprit(golden, actual)
    assert (found["cause"], found["confidence"]) == ("sequence", "suspect")
    assert found["operator"] == "Default/act-Smooth/sin-op0" or found["operator"].startswith("Default/act-Rough/"), found


def test_an_operator_less_is_named(pair):
    blocks = "for block in self.blocks: x = x + block(x)"
    layers = "net.blocks = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(2))"
    golden = pair.record("golden", program(between=blocks, weights=layers))
    actual = pair.record("actual", program(between=blocks.replace("self.blocks", "self.blocks[:1]"), weights=layers))
    found = pair.culprit(golden, actual)
    assert (found["cause"], found["confidence"]) == ("sequence", "certain")
    assert found["operator"] == "Default/add-op1"
    assert found["why"] == "only in golden, where Default/tanh-op0 reads what it makes"


ATTENTION = """
import sys
import torch
torch.manual_seed(1)

class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(1, 2) * 0.18
        {}

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.attention, self.end = torch.nn.Linear(32, 96), Attention(), torch.nn.Linear(32, 32)

    def forward(self, x):
        y = self.end(self.attention(*self.qkv(x).chunk(3, -1)))
        if torch.isnan(y).any():
            sys.exit("NaN")
        return torch.tanh(y + x)

net = Net().bfloat16()
with torch.no_grad():
    net(net(torch.randn(8, 64, 32).bfloat16() * 2))
"""


def test_another_attention_in_bfloat16_is_rounding(pair):
    """No operator of both runs makes the difference, and one that reads it has no numbers for result: isnan."""
    composed = "e = (scores{} - scores.amax(-1, True)).exp(); return ((e / e.sum(-1, True)).unsqueeze(-1) * v.unsqueeze(1)).sum(2)"
    golden = pair.record("golden", ATTENTION.format("return scores.softmax(-1) @ v"))
    done = pair.run("compare", golden, pair.record("actual", ATTENTION.format(composed.format(""))))
    assert done.returncode == 0, done.stdout
    done = pair.run("compare", golden, pair.record("wrong", ATTENTION.format(composed.format(" * 1.5"))))
    assert done.returncode == 1 and "Default/attention-Attention/" in done.stdout.splitlines()[-1], done.stdout
