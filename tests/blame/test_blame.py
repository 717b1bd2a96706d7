"""opdump blame on real programs: what is wrong is named, and nobody is blamed for rounding."""

import contextlib
import json
import re
import sqlite3
import subprocess
import sys
import textwrap

import pytest
from conftest import OPDUMP, fault, program


def test_a_forward_operator_is_named_and_its_error_reproduced(pair):
    golden = pair.record("golden", program(fault("tanh", "x", "2 * torch.sigmoid(2 * x) - 1", "pass")))
    actual = pair.record("actual", program(fault("tanh", "x", "2 * torch.sigmoid(2 * x) - 1", "result = result * 1.0003", at=1)))
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["step"], found["cause"]) == ("Default/tanh-op0", 1, "own_error")
    assert found["confidence"] == "certain"
    assert found["error"]["r"] > 100
    text = pair.run("blame", golden, actual).stdout
    assert text.startswith("culprit (certain): Default/tanh-op0 (forward, step 1) at train.py:"), text
    done = pair.run("reproduce", actual, "Default/tanh-op0", "--step", "1", "-o", "script.py")
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([sys.executable, "script.py"], cwd=pair.directory, capture_output=True, text=True, timeout=600)
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("output.0 recorded: relative error 0.0003"), shown.stderr
    assert lines[1].startswith("output.0 here: relative error ") and "e-0" in lines[1]


def test_the_chain_says_which_input_brings_the_error(pair):
    arguments = ("threshold_backward", "grad, x, threshold", "torch.where(x > threshold, grad, torch.zeros_like(grad))")
    golden = pair.record("golden", program(fault(*arguments, "pass")))
    actual = pair.record("actual", program(fault(*arguments, "result[3] = 0")))
    answer = json.loads(pair.run("blame", golden, actual, "--json").stdout)
    shares = [link.split(", ", 1)[1] for link in answer["chain"] if " % by input." in link]
    assert shares, answer["chain"]
    brought = [int(part.split(" % by input.")[0]) for part in shares[0].rstrip(")").split(", ")]
    assert len(brought) > 1 and brought == sorted(brought, reverse=True) and 97 <= sum(brought) <= 103


def test_the_chain_says_where_differences_cancel_one_another(pair):
    """Adam's first step divides a gradient by its own size."""
    golden = pair.record("golden", program(), steps="0")
    actual = pair.record("actual", program(factor=5), steps="0")
    last = json.loads(pair.run("blame", golden, actual, "--json").stdout)["chain"][-1]
    assert "optimizer-Adam/addcdiv_" in last and last.endswith(", the differences of its inputs cancel one another)"), last


def test_golden_can_be_at_fault(pair):
    wrong = pair.record("golden", program(fault("tanh", "x", "2 * torch.sigmoid(2 * x) - 1", "result = result * 1.0003")))
    found = pair.culprit(wrong, pair.record("actual", program()))
    assert (found["operator"], found["cause"]) == ("Default/tanh-op0", "golden_at_fault")


def test_a_backward_operator_is_named(pair):
    arguments = ("threshold_backward", "grad, x, threshold", "torch.where(x > threshold, grad, torch.zeros_like(grad))")
    golden = pair.record("golden", program(fault(*arguments, "pass")))
    found = pair.culprit(golden, pair.record("actual", program(fault(*arguments, "result[3] = 0"))))
    assert found["operator"].startswith("Gradients/Default/") and found["type"] == "threshold_backward"
    assert (found["step"], found["phase"], found["confidence"]) == (0, "backward", "certain")


def test_an_update_that_is_left_out_is_named(pair):
    right = "torch.ops.aten.addcdiv.out(x, a, b, value=value, out=x)"
    arguments = ("addcdiv_", "x, a, b, value=1", right)
    skip = "result = x.sub_(x - before)"
    golden = pair.record("golden", program(fault(*arguments, "pass")))
    wrong = fault("addcdiv_", "x, a, b, value=1", f"(globals().update(before=x.clone()), {right})[1]", skip, at=2)
    found = pair.culprit(golden, pair.record("actual", program(wrong)))
    assert (found["type"], found["phase"], found["cause"]) == ("addcdiv_", "optimizer", "own_error")
    assert found["operator"].endswith("addcdiv_-op2")


def two_faults(relu, tanh):
    """Kernels of two operators, each with a fault or none."""
    first = fault("relu", "x", "torch.clamp_min(x, 0)", relu)
    for name in ("calls", "library", "wrong"):
        first = first.replace(name + " =", "first_" + name + " =").replace(name + "[", "first_" + name + "[")
    first = first.replace("library.impl", "first_library.impl").replace("wrong", "first_wrong").replace("first_first_", "first_")
    return program(first + fault("tanh", "x", "2 * torch.sigmoid(2 * x) - 1", tanh))


def test_two_culprits_are_ranked_by_what_goes_away_without_them(pair):
    golden = pair.record("golden", two_faults("pass", "pass"))
    actual = pair.record("actual", two_faults("result *= 1.001", "result *= 1.003"))
    answer = pair.blame(golden, actual, 1)
    certain = [f for f in answer["findings"] if f["confidence"] == "certain"]
    assert [f["operator"] for f in certain] == ["Default/tanh-op0", "Default/relu-op0"]  # the earlier one matters less
    assert [f["step"] for f in certain] == [0, 0]
    assert 1 > certain[0]["removes"] > certain[1]["removes"] > 0
    assert certain[0]["removes"] < answer["removed"] <= 1
    lines = pair.run("blame", golden, actual).stdout.splitlines()
    assert lines[0].startswith("culprit (certain): Default/tanh-op0 (forward, step 0)")
    share = [line for line in lines if line.endswith(" % of the final error is gone")]
    assert [line.split(",")[0] for line in share] == ["  without it", "  without it", "  without all of them"]
    assert any(line.startswith("also (certain): Default/relu-op0 (forward, step 0)") for line in lines)
    assert pair.run("blame", golden, actual, "--save", "result.opdump").returncode == 1
    with contextlib.closing(sqlite3.connect(pair.directory / "result.opdump")) as result:
        [sentence] = result.execute("SELECT value FROM result WHERE key = 'blame'").fetchone()
        kept = result.execute("SELECT o.name, c.confidence, c.removes FROM culprits c JOIN operators o ON o.id = c.operator "
                              "ORDER BY c.place").fetchall()
    assert sentence == lines[0]
    assert kept == [(f["operator"], "certain", f["removes"]) for f in certain]
    report = subprocess.run([OPDUMP, "report", "result.opdump", "-o", "result.html"], cwd=pair.directory, capture_output=True, text=True)
    assert report.stdout.startswith("culprit (certain): Default/tanh-op0") or "without its pages" in report.stderr
    one = pair.blame(golden, pair.record("one", two_faults("result *= 1.001", "pass")), 1)
    assert [f["operator"] for f in one["findings"]] == ["Default/relu-op0"]
    assert "removes" not in one["findings"][0] and one["removed"] is None


def test_a_constant_and_a_weight_are_two_culprits(pair):
    golden = pair.record("golden", program())
    actual = pair.record("actual", program(factor=4.2, weights="net.a.weight.data.numpy()[2] += 0.5"))
    answer = pair.blame(golden, actual, 1)
    causes = {f["operator"]: f["cause"] for f in answer["findings"] if f["confidence"] == "certain"}
    # The weight was initialised while opdump looked; the backward pass has the constant, too.
    assert causes == {"Default/a-Linear/addmm-op0": "overwritten", "Default/mul-op0": "argument"}
    assert 0.8 < answer["removed"] <= 1  # what is left is rounding: the gradient of a bias before a batch norm is nothing else


def test_weights_after_steps_that_were_not_recorded_are_no_culprits(pair):
    text = program().replace("range(2)", "range(3)")
    golden = pair.record("golden", text, steps="0,2")
    actual = pair.record("actual", text.replace("* 4)", "* 4.2)"), steps="0,2")
    answer = pair.blame(golden, actual, 1)
    assert {f["cause"] for f in answer["findings"]} == {"argument"}


def test_an_operator_that_is_wrong_in_each_step_is_one_culprit(pair):
    arguments = ("tanh", "x")
    golden = pair.record("golden", program(fault(*arguments, "2 * torch.sigmoid(2 * x) - 1", "pass")))
    actual = pair.record("actual", program(fault(*arguments, "(2 * torch.sigmoid(2 * x) - 1) * 1.0003", "pass")))
    certain = [f for f in pair.blame(golden, actual, 1)["findings"] if f["confidence"] == "certain"]
    assert [(f["operator"], f["step"], f["later_steps"]) for f in certain] == [("Default/tanh-op0", 0, [1])]
    assert "  the same in step 1" in pair.run("blame", golden, actual).stdout.splitlines()


def test_a_constant_is_named(pair):
    golden, actual = pair.record("golden", program()), pair.record("actual", program(factor=5))
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["cause"], found["confidence"]) == ("Default/mul-op0", "argument", "certain")
    assert found["why"] == "input.1 is the constant 4 in golden and 5 in actual"
    done = subprocess.run([OPDUMP, "compare", golden, actual], cwd=pair.directory, capture_output=True, text=True)
    last = done.stdout.splitlines()[-1]
    assert last.startswith("first bad operator: Default/mul-op0 (forward, step 0)")
    assert "input.1 is the constant 4 in golden and 5 in actual, output differs" in last


def test_a_weight_is_named(pair):
    golden = pair.record("golden", program())
    text = "import numpy\nnet.b.weight.data.copy_(net.b.weight.data * torch.from_numpy(numpy.float32(1.001).reshape(1)))"
    other = program(weights="net.b.weight.data.numpy()[2, 3] += 0.01")
    found = pair.culprit(golden, pair.record("actual", other))
    assert (found["cause"], found["type"]) in (("input", "addmm"), ("overwritten", "addmm")), text
    assert found["operator"] == "Default/b-Linear/addmm-op0"


def test_a_weight_is_named_where_actual_reads_a_copy_in_another_type(pair):
    golden = pair.record("golden", program())
    assert pair.blame(golden, pair.record("bfloat16", program(weights="net.bfloat16()")), 0)["outcome"] == "rounding"
    found = pair.culprit(golden, pair.record("actual", program(weights="net.b.weight.data.numpy()[2, 3] += 0.5; net.bfloat16()")))
    assert (found["operator"], found["slot"]) == ("Default/b-Linear/addmm-op0", "input.2")
    assert (found["cause"], found["confidence"]) == ("overwritten", "certain")


def test_memory_that_is_overwritten_is_no_fault_of_the_operator(pair):
    golden = pair.record("golden", program(between="y = x.detach().numpy()"))
    actual = pair.record("actual", program(between="y = x.detach().numpy(); y[1, 1:5] += 0.5"))
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["cause"], found["slot"]) == ("Default/tanh-op0", "overwritten", "input.0")
    assert "Default/relu-op0 had made it" in found["why"]


@pytest.mark.parametrize("before, parts, cause, why", [
    ("y[1, 1:5] += 0.5", "x.chunk(2, 1)", "overwritten", "its memory was changed after Default/relu-op0 had made it"),
    ("pass", "x.chunk(2, 1)[::-1]", "input", "it is another part of what Default/relu-op0 made"),
], ids=["overwritten", "another part"])
def test_a_part_that_is_overwritten_is_not_another_part(pair, before, parts, cause, why):
    text = "y = x.detach().numpy(); {}; x = torch.cat([torch.tanh(part) for part in {}], 1)"
    golden = pair.record("golden", program(between=text.format("pass", "x.chunk(2, 1)")))
    found = pair.culprit(golden, pair.record("actual", program(between=text.format(before, parts))))
    assert found["operator"].startswith("Default/tanh-op")
    assert (found["cause"], found["slot"]) == (cause, "input.0")
    assert why in found["why"]


def test_elements_in_another_order_are_not_overwritten(pair):
    text = "x = torch.cat([torch.tanh(x[:, :32]{}), x[:, 32:]], 1)"
    golden = pair.record("golden", program(between=text.format("")))
    found = pair.culprit(golden, pair.record("actual", program(between=text.format(".t()"))))
    assert (found["operator"], found["cause"], found["slot"]) == ("Default/tanh-op0", "input", "input.0")
    assert found["why"] == "it has golden's elements in another order (transposed?)"


def test_a_part_of_memory_that_lies_at_another_place_is_told(pair):
    text = "c = torch.zeros(32, 64); c[:, :32] = x[:, :32]; c[:, {}:][:, :16] = torch.tanh(x[:, :16]); x = torch.sigmoid(c) + x"
    golden = pair.record("golden", program(between=text.format(32)))
    found = pair.culprit(golden, pair.record("actual", program(between=text.format(31))))
    assert (found["operator"], found["cause"], found["slot"]) == ("Default/sigmoid-op0", "input", "input.0")
    assert re.fullmatch(r"what Default/\S+ made lies at another place in it than in golden", found["why"])


def test_compare_names_a_view_with_other_arguments(pair):
    text = "x = torch.cat([torch.tanh(x[:, {}:{}]), x[:, 32:]], 1)"
    golden = pair.record("golden", program(between=text.format(0, 32)))
    compared = pair.run("compare", golden, pair.record("actual", program(between=text.format(1, 33)))).stdout
    assert re.search(r"tanh-op0 .*; before it, Default/slice-op\d+ at train.py:\d+ has other arguments: start is 0 in golden and 1 in actual",
                     compared), compared


def test_compare_names_a_view_in_a_step_that_does_not_list_it(pair):
    """Views are listed once, and what changes of them in later steps: here the part of a cache that is read."""
    count = "import itertools; count = itertools.count()"
    text = "c, i = torch.sigmoid(x), next(count); x = torch.cat([torch.tanh(c[:, {}:][:, :32]), x[:, 32:]], 1)"
    golden = pair.record("golden", program(count, text.format("i")))
    compared = pair.run("compare", golden, pair.record("actual", program(count, text.format("2 * i")))).stdout
    assert re.search(r"tanh-op0 \(forward, step 1\).*; before it, Default/slice-op\d+ at train.py:\d+ has other arguments: "
                     "start is 1 in golden and 2 in actual", compared), compared


PADDED = """
    import torch
    torch.manual_seed(0)
    words, places, layer = torch.nn.Embedding(61, 32), torch.nn.Embedding(16, 32), torch.nn.Linear(32, 61)
    ids = torch.randint(1, 61, (2, 6))
    {pad}
    place = torch.arange(ids.shape[1])
    layer(torch.relu(words(ids) + places(place))).sum().backward()
"""


def test_padding_is_named_and_not_the_sizes_that_follow_from_it(pair):
    golden = pair.record("golden", textwrap.dedent(PADDED).format(pad="pass"))
    actual = pair.record("actual", textwrap.dedent(PADDED).format(pad="ids = torch.cat([torch.zeros(2, 2, dtype=torch.long), ids], 1).clone()"))
    compared = pair.run("compare", golden, actual).stdout
    assert re.search(r"first bad operator: Default/cat-op0 .* at train.py:\d+ — only in actual, and .*embedding-op0, which reads what it makes",
                     compared), compared
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["cause"]) == ("Default/cat-op0", "sequence"), found


def test_memory_that_is_overwritten_unnoticed_needs_a_check_of_reads(pair):
    golden = pair.record("golden", program())
    # As a kernel that writes beyond its memory: torch does not hear of it.
    spill = "import ctypes; ctypes.memset(torch._C._TensorBase.data_ptr(x) + 4 * 70, 64, 16)"
    trusting = pair.blame(golden, pair.record("trusting", program(between=spill)), 1)
    assert trusting["findings"][0]["cause"] == "own_error"  # of the operator that reads it
    assert any("--check-reads" in note for note in trusting["notes"])
    actual = pair.record("actual", program(between=spill), options=["--check-reads"])
    lines = [line for line in pair.log.splitlines() if "which is not what" in line]
    assert len(lines) == 2 and lines[0].endswith(
        "step 0: Default/tanh-op0 reads input.0, which is not what Default/relu-op0 wrote: its memory was changed in between, "
        "and by no recorded operator")
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["cause"], found["slot"]) == ("Default/tanh-op0", "overwritten", "input.0")
    same = pair.record("same", program(), options=["--check-reads"])
    assert "which is not what" not in pair.log
    assert pair.blame(golden, same, 0)["outcome"] == "same"


def test_another_seed_is_named(pair):
    noise = "x = F.dropout(x, 0.5)"
    golden = pair.record("golden", program(between=noise))
    actual = pair.record("actual", program(between="torch.manual_seed(9); " + noise))
    found = pair.culprit(golden, actual)
    assert (found["cause"], found["confidence"]) == ("random", "suspect")
    assert found["why"] == "it is random, and the seed is 3 in golden and 9 in actual"
    done = subprocess.run([OPDUMP, "compare", golden, actual], cwd=pair.directory, capture_output=True, text=True)
    assert "it draws random numbers, and the seed is 3 in golden and 9 in actual" in done.stdout.splitlines()[-1]
    drawn = pair.culprit(golden, pair.record("drawn", program(between="torch.rand(1); " + noise)))
    assert (drawn["cause"], drawn["operator"]) == ("random", found["operator"])
    assert drawn["why"] == "it is random, and its generator is in another state: other random numbers were drawn before"


def test_autocast_is_named(pair):
    def cast(region):
        return program(between=f"with torch.autocast('cpu', dtype=torch.bfloat16, {region}): y = self.b(torch.tanh(x))")

    golden, actual = pair.record("golden", cast("enabled=False")), pair.record("actual", cast("enabled=True"))
    notes = [note for note in pair.blame(golden, actual, 0)["notes"] if note.startswith("autocast")]
    assert len(notes) == 1 and notes[0].startswith("autocast is bfloat16 in actual only, in "), notes
    calls = [json.loads(line) for line in (pair.directory / "actual/rank_0/operators.jsonl").read_text().splitlines()]
    cast_to = {call["name"]: call.get("state", {}).get("autocast") for call in calls if call["kind"] == "call"}
    assert cast_to["Default/tanh-op0"] == "bfloat16" and cast_to["Default/b-Linear/addmm-op0"] == "bfloat16"
    assert cast_to["Default/relu-op0"] is None and cast_to["Default/b-Linear/addmm-op1"] is None


def test_rounding_is_no_difference(pair):
    golden = pair.record("golden", program(), env={"OMP_NUM_THREADS": "1"})
    actual = pair.record("actual", program(), env={"OMP_NUM_THREADS": "2", "ATEN_CPU_CAPABILITY": "default"})
    answer = pair.blame(golden, actual, 0)
    assert answer["outcome"] in ("rounding", "same") and answer["findings"] == []
    assert ("environments differ: ATEN_CPU_CAPABILITY is default in actual only, OMP_NUM_THREADS is 1 in golden and 2 in actual, "
            "threads is 1 in golden and 2 in actual") in answer["notes"]
    assert 0 < answer["replayed"] <= answer["differing"]  # which has random numbers, rounded otherwise
    double = pair.record("double", program(weights="net.double()"))
    single = pair.blame(double, golden, 0)
    assert single["outcome"] == "rounding"


def test_gradients_that_are_added_in_another_order_are_no_difference(pair):
    # In bfloat16 the two gradients of y are added first, in float32 that of x and one of them: `add_` reads another tensor.
    norm = "y = x.float(); y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6); x = x + torch.cat([x.new_zeros(0), y.to(x.dtype)])"
    golden = pair.record("golden", program(between=norm))
    actual = pair.record("actual", program(between=norm, weights="net.bfloat16()"))
    answer = pair.blame(golden, actual, 0)
    assert (answer["outcome"], answer["findings"]) == ("rounding", [])
    assert answer["not_replayed"] == [], "cat reads a tensor without elements"


def test_limits_are_learnt_from_runs_without_a_fault(pair):
    golden = pair.record("golden", program())
    done = pair.run("blame", "--calibrate", golden, "--limits", "limits.json")
    assert done.returncode == 0 and "wrote limits.json: " in done.stdout, done.stderr
    limits = json.loads((pair.directory / "limits.json").read_text())["limits"]["float32"]
    assert limits["addmm"]["runs"] == 4 and limits["addmm"]["r"] > 0
    other = pair.record("other", program(), {"ATEN_CPU_CAPABILITY": "default"})
    assert pair.run("blame", "--calibrate", golden, other, "--limits", "limits.json").returncode == 0
    learnt = json.loads((pair.directory / "limits.json").read_text())
    assert learnt["limits"]["float32"]["addmm"]["runs"] == 12
    assert set(learnt["gains"]) == {"data", "outputs", "statistics"}
    linear = learnt["gains"]["outputs"]["float32"]["linear"]
    assert linear["runs"] >= len(linear["whole"]) > 0 and linear["whole"] == sorted(linear["whole"], reverse=True)
    actual = pair.record("actual", program(factor=5))
    assert pair.run("blame", golden, actual, "--limits", "limits.json").returncode == 1
    done = pair.run("blame", golden, actual, "--limits", "absent.json")
    assert done.returncode == 2 and "absent.json: no limits of opdump blame" in done.stderr
    assert pair.run("blame", "--calibrate", golden).returncode == 2


def test_integers_that_overflow_are_named(pair):
    text = """
        import torch
        row, table = torch.arange(16), torch.randn(320, 8)
        index = (row.to(torch.{kind}) * 20).long()
        torch.nn.functional.embedding(index, table).sum()
    """
    text = textwrap.dedent(text)
    wide, narrow = pair.record("wide", text.format(kind="int64")), pair.record("narrow", text.format(kind="uint8"))
    for golden, actual in ((wide, narrow), (narrow, wide)):
        found = pair.culprit(golden, actual)
        assert found["operator"].startswith("Default/mul-op0") and found["confidence"] == "certain", found
        assert "uint8" in found["why"] and "3 of 16 results differ" in found["why"], found


def test_an_operator_that_changes_a_weight_is_named(pair):
    # Where both runs have operators of their own in the module that reads it.
    way = "x = torch.softmax({}, 1) @ x"
    golden = pair.record("golden", program(between=way.format("(x * 0.5) @ x.t()")))
    actual = pair.record("actual", program(between=way.format("(x @ x.t()) / 2"), weights="net.b.weight.data[3, 5] += 0.5"))
    found = pair.culprit(golden, actual)
    assert found["operator"] == "Default/copy_-op0" and found["source"] == "train.py:21", found
    assert "only in actual" in found["why"], found


def test_the_lowest_numbers_of_two_types_mean_the_same(pair):
    masked = "x = torch.softmax((x @ x.t()).masked_fill(torch.ones(32, 32).triu(1).bool(), torch.finfo(x.dtype).min), 1) @ x"
    golden = pair.record("golden", program(between=masked))
    actual = pair.record("actual", program(between=masked, weights="net.double()"))
    assert pair.blame(golden, actual, 0)["outcome"] == "rounding"
    done = subprocess.run([OPDUMP, "compare", golden, actual], cwd=pair.directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_arguments_that_change_nothing_beyond_rounding_are_a_note(pair):
    golden = pair.record("golden", program(weights="net.norm.eps = 1e-9"))
    actual = pair.record("actual", program(weights="net.norm.eps = 1e-10; net.a.weight.data.mul_(1 + 1e-7)"))
    answer = pair.blame(golden, actual, 0)
    assert answer["outcome"] == "rounding"
    assert ("in Default/norm-BatchNorm1d/native_batch_norm-op0, eps is 1e-09 in golden and 1e-10 in actual: that changes nothing "
            "beyond rounding") in answer["notes"]


def test_another_batch_is_other_data(pair):
    golden, actual = (pair.record(name, program().replace("randn(32, 24)", f"randn(32, 24)[:{batch}]"))
                      for name, batch in (("golden", 32), ("actual", 16)))
    found = pair.culprit(golden, actual)
    assert (found["cause"], found["confidence"], found["slot"]) == ("input", "certain", "input.1")
    assert found["operator"] == "Default/a-Linear/addmm-op0"
    assert found["why"] == "it is (32,24) in golden and (16,24) in actual of what Default/randn-op0 made, and actual's is the first " \
        "part of golden's; before it, Default/slice-op1 at train.py:23 has other arguments: end is 32 in golden and 16 in actual"


# Data that no recorded operator makes, as that of a loader.
DATA = "__import__('numpy').random.default_rng(7).standard_normal((32, 24)).astype('f4')"


def with_data(data):
    return program().replace("torch.randn(32, 24)", f"torch.from_numpy({data})")


def test_data_of_a_profiling_run_is_recognised(pair):
    golden, actual = pair.record("golden", with_data(DATA)), pair.record("actual", with_data(f"0 * {DATA}"))
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["cause"]) == ("Default/a-Linear/addmm-op0", "input")
    assert found["why"].endswith(", and it is all zero in actual: never filled, or a profiling run?")


def test_padded_data_is_recognised(pair):
    golden = pair.record("golden", with_data(DATA))
    actual = pair.record("actual", with_data(f"__import__('numpy').pad({DATA}, ((0, 8), (0, 0)))"))
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["cause"]) == ("Default/a-Linear/addmm-op0", "input")
    assert found["why"].endswith(", and golden's is the first part of actual's; the rest is zero: padding")


@pytest.mark.parametrize("end", ["x = x[:32]", "x = x.masked_fill(torch.arange(40)[:, None] >= 32, 0)[:32]"], ids=["part", "mask"])
def test_rows_that_nobody_fills_are_no_difference(pair, end):
    """The results of the rows do not matter."""
    between = "room = torch.zeros(40, 64); room.numpy()[32:] = sys.argv[1] * x.detach().numpy()[:8]; " \
        f"x = torch.tanh(room.index_copy(0, torch.arange(32), x)); {end}"
    for name, value in (("golden", "0.5"), ("actual", "0.25")):
        pair.record(name, program(between=between).replace("sys.argv[1]", value))
    answer = pair.blame("golden", "actual", 0)
    assert answer["outcome"] == "rounding" and not answer["findings"]
    assert "Default/index_copy-op0 reads other values in input.0, which no recorded operator made and no result depends on: padding?" \
        in answer["notes"]
    pair.record("actual2", program(between=between.replace(end, "x = x + 0")).replace("sys.argv[1]", "0.25"))
    pair.record("golden2", program(between=between.replace(end, "x = x + 0")).replace("sys.argv[1]", "0.5"))
    found = pair.culprit("golden2", "actual2")  # now they matter
    assert (found["operator"], found["cause"]) == ("Default/index_copy-op0", "input")


def test_running_statistics_are_outputs(pair):
    pair.record("golden", program())
    done = pair.run("show", "golden", "native_batch_norm-op0")
    shown = subprocess.run([OPDUMP, "ls", "golden"], cwd=pair.directory, capture_output=True, text=True).stdout
    lines = shown[shown.index("native_batch_norm-op0"):].splitlines()[1:]
    outputs = [line.split()[0] for line in lines[: next(i for i, line in enumerate(lines) if "output" not in line and "input" not in line)]
               if "output" in line]
    assert outputs == [f"output.{i}" for i in range(5)], done.stdout


def test_compare_can_blame(pair):
    golden, actual = pair.record("golden", program()), pair.record("actual", program(factor=5))
    done = pair.run("compare", golden, actual, "--blame")
    assert done.returncode == 1
    assert "first bad operator: Default/mul-op0" in done.stdout
    assert "culprit (certain): Default/mul-op0 (forward, step 0)" in done.stdout


@pytest.mark.parametrize("function, arguments", [
    ("aten::from_file", {"filename": "made", "shared": True, "size": 4}), ("aten::save", {"item": 1, "filename": "made"}),
    ("load_library::__self__", {}), ("c10d::barrier", {}), ("aten::warn", {"message": "made"}), ("", {})])
def test_a_dump_that_names_something_else_than_an_operator(function, arguments, tmp_path):
    """A dump may come from anywhere: only what computes tensors is run."""
    request = {"function": function, "sides": {"golden": {"arguments": arguments, "inputs": {}, "outputs": {}}}}
    assert replay(request, tmp_path)["ok"] is False
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_name_is_no_code_in_a_script(tmp_path):
    name = '"""\nimport os\nos.mkdir("made")\n"""'
    side = {"arguments": {"size": [2]}, "inputs": {}, "outputs": {}}
    request = {"script": "script.py", "function": "aten::zeros", "name": name, "side": side}
    assert replay(request, tmp_path)["ok"] is True
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.py"]


def replay(request, folder):
    """What the worker of the build answers."""
    worker = OPDUMP.parent.parent / "python/opdump/_replay"
    done = subprocess.run([sys.executable, "-B", worker], input=json.dumps(request) + "\n", capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
