"""One model on a batch and on some of its rows: no difference, or the fault by its operator."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAMS = pathlib.Path(__file__).parent / "programs"
FAULTS = {
    "epsilon": "Default/blocks-ModuleList/1-Block/second-LayerNorm/native_layer_norm-op0",
    "position": "Default/add-op0",
    "scale": "Default/blocks-ModuleList/0-Block/attention-Attention/div-op0",
}


@pytest.fixture(scope="session")
def record(tmp_path_factory):
    """Records a program with arguments, each once, and returns where."""
    folder = tmp_path_factory.mktemp("rows")

    def run(*arguments, program="lm.py"):
        name = "_".join([program.removesuffix(".py"), *arguments]).replace("=", "-").replace(",", "").replace(":", "-")
        if not (folder / name).exists():
            done = subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", sys.executable, PROGRAMS / program, *arguments],
                                  cwd=folder, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr
        return folder / name

    return run


def compare(golden, actual, *options):
    """What compare says, with its exit status."""
    rows = [] if "--rows" in options else ["--rows", "auto"]
    return run_compare(golden, actual, *rows, *options)


def run_compare(golden, actual, *options):
    done = subprocess.run([OPDUMP, "compare", golden, actual, "--json", *options], capture_output=True, text=True, timeout=600)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def first_bad(summary):
    return summary["first_bad"] and summary["first_bad"]["operator"]


@pytest.mark.parametrize("rows, said", [("1", "row 1 of 4 = the only row"), ("3,1", "row 1 of 4 = row 1 of 2, row 3 of 4 = row 0 of 2"),
                                        ("1,2,3", "rows 1-3 of 4 = rows 0-2 of 3")])
def test_rows_of_a_batch_are_found(record, rows, said):
    status, summary = compare(record(), record(f"rows={rows}"))
    assert status == 0, summary["text"]
    assert any(note.startswith(said + ", by equal elements of input.1 of Default/words-Embedding/embedding-op0") for note in summary["notes"])
    status, summary = compare(record(f"rows={rows}"), record())
    assert status == 0, summary["text"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_row_is_named(record, fault):
    status, summary = compare(record(), record("rows=1", f"fault={fault}"))
    assert (status, first_bad(summary)) == (1, FAULTS[fault]), summary["text"]


@pytest.mark.parametrize("fault", [None, *FAULTS])
@pytest.mark.parametrize("mode", [(), ("train",)])
def test_all_rows_in_another_order(record, mode, fault):
    """Nothing is missing then, and nobody need say that it is meant."""
    golden, actual = record(*mode), record(*mode, "rows=3,1,0,2", *([f"fault={fault}"] if fault else []))
    status, summary = run_compare(golden, actual)
    assert (status, first_bad(summary)) == ((1, FAULTS[fault]) if fault else (0, None)), summary["text"]
    assert any(note.startswith("row 0 of 4 = row 2 of 4, row 2 of 4 = row 3 of 4, row 3 of 4 = row 0 of 4") for note in summary["notes"])


def test_rows_are_found_without_a_word(record):
    """That they are others may be the fault: this leaves it open until somebody says that it is meant."""
    status, summary = run_compare(record(), record("rows=1"))
    assert (status, first_bad(summary)) == (3, None), summary["text"]
    assert any("row 1 of 4 = the only row, by equal elements of" in reason and "--rows auto" in reason for reason in summary["incomplete"])
    status, summary = run_compare(record(), record("rows=1"), "--rows", "none")
    assert (status, first_bad(summary)) == (1, "Default/index-op0"), summary["text"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_row_is_named_without_a_word(record, fault):
    golden, actual = record(), record("rows=1", f"fault={fault}")
    status, summary = run_compare(golden, actual)
    assert (status, first_bad(summary)) == (1, FAULTS[fault]), summary["text"]
    done = subprocess.run([OPDUMP, "blame", golden, actual, "--json", "--python", sys.executable], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and json.loads(done.stdout)["findings"][0]["operator"] == FAULTS[fault], done.stdout


@pytest.mark.parametrize("actual", [("rows=1", "seed=2"), ("seed=2",), ("short", "rows=1", "seed=2")])
def test_what_no_data_confirms_is_another_shape(record, actual):
    status, summary = run_compare(record(), record(*actual))
    assert (status, summary) == run_compare(record(), record(*actual), "--rows", "none"), summary["text"]
    assert status == 1


def test_other_data_is_no_row(record):
    """The rows of the runs have nothing in common: the runs differ from the first operator on."""
    status, summary = compare(record(), record("rows=1", "seed=2"))
    assert status == 1 and "other-rows" not in summary["note_rules"]


def test_equal_shapes_are_compared_as_they_are(record):
    status, summary = compare(record(), record("seed=2"))
    assert status == 1 and "other-rows" not in summary["note_rules"]


def test_rows_that_nothing_confirms_leave_it_open(record):
    status, summary = compare(record(), record("rows=1", "seed=2"), "--rows", "0=0")
    assert status != 0 and any("no data of the two runs confirms" in reason for reason in summary["incomplete"])


def test_rows_that_a_user_names(record):
    assert compare(record(), record("rows=1"), "--rows", "1=0")[0] == 0
    for wrong in "1", "7=0", "1=0,1=1":
        done = subprocess.run([OPDUMP, "compare", record(), record("rows=1"), "--rows", wrong], capture_output=True, text=True)
        assert done.returncode == 2 and "--rows" in done.stderr, done.stderr


def test_what_follows_from_a_sum_over_rows_is_left_out(record):
    """That the batch is another one may be the fault, unless the user says that it is meant."""
    status, summary = compare(record("train"), record("train", "rows=1"))
    assert status == 3 and any("follow from sums over rows" in reason for reason in summary["incomplete"]), summary["text"]
    status, summary = compare(record("train"), record("train", "rows=1"), "--rows", "1=0")
    assert status == 0, summary["text"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_before_a_sum_over_rows_is_named(record, fault):
    status, summary = compare(record("train"), record("train", "rows=1", f"fault={fault}"))
    assert (status, first_bad(summary)) == (1, FAULTS[fault]), summary["text"]


GPT_FAULTS = {
    "epsilon": "Default/h-ModuleList/1-Block/ln_2-LayerNorm/native_layer_norm-op0",
    "scale": "Default/h-ModuleList/0-Block/attn-CausalSelfAttention/mul-op0",
}


@pytest.mark.parametrize("fault", [None, *GPT_FAULTS])
def test_a_training_step_with_tied_weights_and_clipping(record, fault):
    golden = record(program="gpt_train.py")
    status, summary = compare(golden, record("row=1", *([f"fault={fault}"] if fault else []), program="gpt_train.py"))
    assert (status, first_bad(summary)) == (1, GPT_FAULTS[fault]) if fault else status == 3, summary["text"]


PADDED = {
    "left": (["short", "rows=1", "pad=left:10"], ["short", "rows=1"]),
    "right": (["short", "pad=right:10"], ["short"]),
    "both": (["short", "pad=left:10"], ["short", "rows=2", "pad=right:8"]),
}
OF_PADDED = ["epsilon", "position"]


@pytest.mark.parametrize("case", PADDED)
def test_padding_makes_no_difference(record, case):
    golden, actual = PADDED[case]
    status, summary = compare(record(*golden), record(*actual))
    assert status == 0, summary["text"]


@pytest.mark.parametrize("case", PADDED)
@pytest.mark.parametrize("fault", OF_PADDED)
def test_a_fault_in_a_padded_row_is_named(record, case, fault):
    golden, actual = PADDED[case]
    status, summary = compare(record(*golden), record(*actual, f"fault={fault}"))
    assert (status, first_bad(summary)) == (1, FAULTS[fault]), summary["text"]


@pytest.mark.parametrize("case", ["left", "right"])
def test_a_run_without_padding_needs_no_mask_of_it(record, case):
    """It lacks an operator, and what that makes is the same in all positions that both runs have."""
    golden, actual = PADDED[case]
    status, summary = compare(record(*golden), record(*actual, "fault=mask"))
    assert status == 0, summary["text"]


def test_padding_that_no_mask_hides(record):
    """What is on the left of a row is read by all behind it; a causal mask hides what is on its right."""
    status, summary = compare(record("short", "rows=1"), record("short", "rows=1", "pad=left:10", "fault=mask"))
    assert (status, first_bad(summary)) == (1, "Default/blocks-ModuleList/0-Block/attention-Attention/_softmax-op0"), summary["text"]
    assert summary["verdicts"]["missing"] == 2  # bitwise_not and bitwise_or, which mask it in golden
    assert compare(record("short"), record("short", "pad=right:10", "fault=mask"))[0] == 0


@pytest.mark.parametrize("fault, operator", [(None, None), ("epsilon", "Default/norm-LayerNorm/native_layer_norm-op0"), ("position", "Default/add-op0"),
                                             ("mask", "Default/_softmax-op0")])
def test_padded_vectors(record, fault, operator):
    """A table of positions, made before the model runs, is cut to the length of the data."""
    status, summary = compare(record(program="pad_vectors.py"), record("pad=4", *([f"fault={fault}"] if fault else []), program="pad_vectors.py"))
    assert (status, first_bad(summary)) == (1 if fault else 0, operator), summary["text"]


CACHED = {"epsilon": FAULTS["epsilon"], "late_position": FAULTS["position"], "scale": FAULTS["scale"]}


@pytest.mark.parametrize("golden", ["a row", "a batch"])
@pytest.mark.parametrize("fault", [None, *CACHED])
def test_one_pass_and_a_cache(record, golden, fault):
    path = record("rows=1") if golden == "a row" else record()
    status, summary = compare(path, record("rows=1", "cache=8", *([f"fault={fault}"] if fault else [])))
    assert (status, first_bad(summary)) == (1 if fault else 0, CACHED.get(fault)), summary["text"]


@pytest.mark.parametrize("fault", [None, "epsilon", "late_position"])
def test_given_positions_and_a_cache(record, fault):
    """The tokens say which position is which, and that the positions the program gives with them are others is a fault."""
    golden, actual = record("rows=1", "given"), record("rows=1", "given", "cache=8", *([f"fault={fault}"] if fault else []))
    status, summary = run_compare(golden, actual)
    named = {None: None, "epsilon": FAULTS["epsilon"], "late_position": "Default/places-Embedding/embedding-op0"}[fault]
    assert (status, first_bad(summary)) == (1 if fault else 0, named), summary["text"]
    assert fault != "late_position" or "input.1 has 7 where golden has 8" in summary["text"]


def test_bits(record):
    """The rows of a batch may be rounded otherwise: the first operator that is, is named."""
    status, summary = compare(record(), record("rows=1"), "--bitwise")
    assert status in (0, 1)
    assert compare(record(), record(), "--bitwise")[0] == 0
    status, summary = compare(record(), record("fault=epsilon"), "--bitwise")
    assert (status, first_bad(summary)) == (1, FAULTS["epsilon"])


# What is wrong in the run with micro-batches, and what is named; None: no difference.
ACCUMULATED = {
    ("accumulate_mlp.py", "micro=4"): {
        None: None, "epsilon": "Default/norm-LayerNorm/native_layer_norm-op0", "scale": "Default/mul-op0", "undivided": "Gradients/Default/MSELoss/mse_loss_backward-op0",
    },
    ("accumulate_lm.py", "micro=2"): {None: None, "scale": "Default/attn-Attention/mul-op0"},
    ("accumulate_cnn.py", "micro=3", "groups"): {None: None},
}


@pytest.mark.parametrize("case, fault", [(case, fault) for case, faults in ACCUMULATED.items() for fault in faults])
def test_micro_batches_of_a_batch(record, case, fault):
    program, *options = case
    others = [option for option in options if not option.startswith("micro")]
    golden, actual = record(*others, program=program), record(*options, *([f"fault={fault}"] if fault else []), program=program)
    status, summary = run_compare(golden, actual)
    assert (status, first_bad(summary)) == (1 if fault else 0, ACCUMULATED[case][fault]), summary["text"]
    assert any("micro-batches of actual are a batch of golden" in note for note in summary["notes"])
    if fault is None:
        assert run_compare(actual, golden)[0] == 0


def test_a_batch_norm_counts_micro_batches(record):
    """It computes other statistics of a micro-batch, and updates what it keeps once for each."""
    status, summary = run_compare(record(program="accumulate_cnn.py"), record("micro=3", program="accumulate_cnn.py"))
    assert (status, first_bad(summary)) == (1, "Default/1-BatchNorm2d/add_-op0"), summary["text"]
    assert any("follow from sums over rows" in reason for reason in summary["incomplete"])


def test_gradients_that_are_sums(record):
    actual = record("micro=4", "fault=undivided", program="accumulate_mlp.py")
    assert any("each is 4 times that of the batch" in note for note in run_compare(record(program="accumulate_mlp.py"), actual)[1]["notes"])
