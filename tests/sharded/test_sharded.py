"""Ranks against one process: real gloo processes, with torch of the system and the newest of PyPI."""

import functools
import json
import os
import pathlib
import shutil
import subprocess

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
NEWEST = os.environ.get("OPDUMP_TORCH2", "")
HERE = pathlib.Path(__file__).resolve().parent
needs_newest = pytest.mark.skipif(not os.access(NEWEST, os.X_OK), reason="no torch from PyPI: tools/fetch_torch.sh")


@pytest.fixture(scope="session")
def record(tmp_path_factory):
    """A dump of a program with options; each is made once."""
    directory = tmp_path_factory.mktemp("dumps")

    @functools.lru_cache(maxsize=None)
    def run(program, *options, python="/usr/bin/python3", content=()):
        dump = directory / "_".join([program, pathlib.Path(python).parent.parent.name, *options, *content]).replace("--", "")
        done = subprocess.run([OPDUMP, "run", "-o", dump, *content, "--steps", "0-1", "--", python, HERE / f"{program}.py", *options],
                              capture_output=True, text=True, timeout=600, cwd=directory)
        assert done.returncode == 0, done.stdout + done.stderr
        return dump

    return run


def compare(golden, actual):
    """Exit status, slots, summary."""
    done = subprocess.run([OPDUMP, "compare", golden, actual, "--json", "--all"], capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, records[:-1], records[-1]


def is_covered(summary, least):
    return summary["compared_tensors"] == summary["golden_tensors"] > 1000 and \
        summary["paired_operators"] >= least * summary["golden_operators"]


LAYOUTS = {"tensor": ("--tp", "2"), "sequence": ("--tp", "2", "--sequence"), "data": ("--dp", "2"),
           "both": ("--tp", "2", "--dp", "2", "--sequence")}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("golden", [(), ("--plain",)], ids=["classes", "linear"])
def test_ranks_compute_what_one_process_does(record, layout, golden):
    status, slots, summary = compare(record("megatron", *golden), record("megatron", *LAYOUTS[layout]))
    assert status == 0, summary["text"]
    assert is_covered(summary, 0.98)
    notes = {slot.get("reason", "") for slot in slots if slot["verdict"] == "match"}
    assert ("axis 0 in 2 parts of each of 3 blocks" in notes) == (layout != "data")  # q, k and v in one weight
    assert ("a sum of 2" in notes)


def test_the_side_of_the_ranks_does_not_matter(record):
    status, _, summary = compare(record("megatron", "--tp", "2"), record("megatron"))
    assert status == 0, summary["text"]


# The ranks of one run, those of the other, and how many of it stand for rank 0.
FEWER = {"tensor": (("--tp", "4"), ("--tp", "2"), "ranks 0-1 stand for rank 0"),
         "data": (("--dp", "4"), ("--dp", "2"), "ranks 0-1 stand for rank 0"),
         "without data": (("--tp", "2", "--dp", "2", "--sequence"), ("--tp", "2", "--sequence"), "ranks 0,2 stand for rank 0"),
         "without tensor": (("--tp", "2", "--dp", "2"), ("--dp", "2"), "ranks 0-1 stand for rank 0")}


@pytest.mark.parametrize("layout", ["without data", *(pytest.param(name, marks=pytest.mark.nightly) for name in FEWER if name != "without data")])
def test_four_ranks_compute_what_two_do(record, layout):
    many, few, note = FEWER[layout]
    status, _, summary = compare(record("megatron", *few), record("megatron", *many))
    assert status == 0, summary["text"]
    assert any(note in line for line in summary["notes"]), summary["notes"]
    assert summary["compared_tensors"] == summary["golden_tensors"] > 2000


@pytest.mark.nightly
def test_a_rank_of_four_is_named_against_two(record):
    status, _, summary = compare(record("megatron", "--tp", "2"), record("megatron", "--tp", "2", "--dp", "2", "--fault", "scale", "--on", "2"))
    assert status == 1
    assert summary["first_bad"]["operator"].endswith("0-Block/attention-Attention/mul-op0")
    assert summary["first_bad"]["wrong_ranks"] == [2]
    assert "rank 2 of 4" in summary["text"]
    status, _, summary = compare(record("megatron", "--tp", "2"), record("megatron", "--tp", "4", "--fault", "weight", "--on", "3"))
    assert status == 1
    assert "down-RowParallel/mm-op0 (forward, step 0, rank 1)" in summary["text"]
    assert summary["first_bad"]["wrong_ranks"] == [3]


def test_ranks_that_are_missing_are_no_layout(record, tmp_path):
    whole = record("megatron", *LAYOUTS["both"])
    for rank in ("rank_0", "rank_1"):
        shutil.copytree(whole / rank, tmp_path / rank)
    _, slots, summary = compare(whole, tmp_path)
    assert not any("stand for" in line for line in summary["notes"])
    assert {slot["verdict"] for slot in slots if slot["rank"] < 2} <= {"match", "skipped"}


# Of one fault each: the operator, the ranks, what the sentence says.
FAULTS = {
    "weight": ("1-Block/down-RowParallel/mm-op0", [1], "input.1 already differs on rank 1"),
    "reduce": ("0-Block/attention-Attention/out-RowParallel/add-op0", [0, 1], "input.0 holds terms of a sum on each rank"),
    "scale": ("0-Block/attention-Attention/mul-op0", [1], "0.3535533905932738 on rank 0 and 0.4419417382415922 on rank 1"),
    "norm": ("1-Block/norm1-LayerNorm/native_layer_norm-op0", [1], "eps is 1e-05 on rank 0 and 0.01 on rank 1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_on_its_rank(record, fault):
    operator, ranks, text = FAULTS[fault]
    status, _, summary = compare(record("megatron"), record("megatron", "--tp", "2", "--fault", fault))
    assert status == 1
    assert summary["first_bad"]["operator"] == f"Default/blocks-ModuleList/{operator}", summary["text"]
    assert summary["first_bad"]["wrong_ranks"] == ranks
    assert text in summary["text"]


def test_a_rank_of_four_is_named(record):
    status, _, summary = compare(record("megatron"), record("megatron", "--tp", "2", "--dp", "2", "--fault", "scale", "--on", "2"))
    assert status == 1
    assert summary["first_bad"]["operator"].endswith("0-Block/attention-Attention/mul-op0")
    assert summary["first_bad"]["wrong_ranks"] == [2]


def test_gradients_that_are_not_averaged(record):
    status, slots, summary = compare(record("megatron"), record("megatron", "--tp", "2", "--dp", "2", "--fault", "gradient"))
    assert status == 1
    assert summary["first_bad"]["phase"] == "optimizer"
    assert "their mean is right: a reduction is missing" in summary["text"]
    wrong = {slot["operator"] for slot in slots if slot["step"] == 0 and slot["verdict"] in ("inherited", "own_error")}
    assert wrong and all("optimizer-SGD" in operator for operator in wrong)


STATISTICS = ("--stats",)


@pytest.mark.parametrize("layout", ["tensor", "data"])
@pytest.mark.parametrize("golden", [{"content": STATISTICS}, {}], ids=["statistics", "tensors"])
def test_statistics_of_parts_add_up(record, layout, golden):
    status, slots, summary = compare(record("megatron", **golden), record("megatron", *LAYOUTS[layout], content=STATISTICS))
    assert status == 0, summary["text"]
    assert summary["compared_tensors"] == summary["golden_tensors"] > 1000
    assert any("may be terms of a sum" in slot.get("reason", "") for slot in slots)


def test_statistics_show_a_fault(record):
    actual = record("megatron", "--tp", "2", "--fault", "scale", content=STATISTICS)
    status, _, summary = compare(record("megatron", content=STATISTICS), actual)
    assert status == 1
    assert summary["first_bad"]["operator"].endswith("0-Block/attention-Attention/mul-op0")
    assert "all parts together: Max Value" in summary["text"]


@needs_newest
@pytest.mark.parametrize("options", [
    pytest.param(options.split(), id=options, marks=pytest.mark.nightly if is_long else ())
    for options, is_long in (("--tp 2", True), ("--tp 4 --sequence", True), ("--dp 2", True), ("--tp 2 --dp 2", False))])
def test_dtensors_and_fully_shard(record, options):
    status, _, summary = compare(record("dtensor", python=NEWEST), record("dtensor", *options, python=NEWEST))
    assert status == 0, summary["text"]
    assert is_covered(summary, 0.9 if "4" in options else 1)  # one head needs no copies to be contiguous


def layouts(dump, rank=0):
    lines = (dump / f"rank_{rank}" / "operators.jsonl").read_text().splitlines()
    return {line["name"]: line for line in map(json.loads, lines) if line["kind"] == "layout"}


@needs_newest
def test_placements_are_recorded(record):
    dump = record("dtensor", "--tp", "2", "--dp", "2", python=NEWEST)
    for rank, place in enumerate([[0, 0], [0, 1], [1, 0], [1, 1]]):
        of_rank = layouts(dump, rank)
        block = "Default/blocks-ModuleList/0-FSDPBlock"
        up = of_rank[f"{block}/up-Linear/addmm-op0"]
        assert (up["mesh"], up["place"]) == ([2, 2], place)
        assert up["slots"] == {"input.0": "any shard:0", "input.1": "any replicate", "input.2": "any shard:1",
                               "output.0": "any shard:1"}
        assert of_rank[f"{block}/down-Linear/addmm-op0"]["slots"]["output.0"] == "any sum"
        update = {tuple(line["slots"].values()) for name, line in of_rank.items() if "optimizer-SGD/add_" in name}
        assert {("shard:0:2 shard:0",) * 3, ("shard:0 shard:1",) * 3} <= update


@needs_newest
def test_a_program_computes_the_same_with_placements_recorded(record, tmp_path):
    alone = subprocess.run([NEWEST, HERE / "dtensor.py", "--tp", "2"], capture_output=True, text=True, timeout=600)
    recorded = subprocess.run([OPDUMP, "run", "-o", tmp_path / "dump", "--", NEWEST, HERE / "dtensor.py", "--tp", "2"],
                              capture_output=True, text=True, timeout=600)
    assert alone.stdout.count("loss") == 2
    assert alone.stdout == recorded.stdout


@needs_newest
@pytest.mark.nightly
def test_ranks_lie_in_the_mesh_as_recorded(record):
    dump = record("dtensor", "--tp", "2", "--dp", "2", "--transposed", python=NEWEST)
    status, slots, summary = compare(record("dtensor", python=NEWEST), dump)
    assert status == 0, summary["text"]
    assert [{tuple(line["place"]) for line in layouts(dump, rank).values()} for rank in range(4)] == \
        [{(0, 0)}, {(1, 0)}, {(0, 1)}, {(1, 1)}]
    notes = {slot.get("reason", "") for slot in slots if slot["operator"].startswith("Default/optimizer-SGD")}
    assert "axis 0 in 2 parts of each of 2 blocks, axis 0 in 2 parts" in notes


@needs_newest
def test_terms_of_a_sum_that_are_said_to_be_the_sum(record):
    status, _, summary = compare(record("dtensor", python=NEWEST), record("dtensor", "--tp", "2", "--fault", "placement", python=NEWEST))
    assert status == 1
    assert summary["first_bad"]["operator"] == "Default/blocks-ModuleList/0-Block/mul-op0", summary["text"]
    assert summary["first_bad"]["wrong_ranks"] == [0, 1]
    assert "their sum is right: a reduction is missing" in summary["text"]


TP2, DP2, DP4 = ("--tp", "2"), ("--dp", "2"), ("--dp", "4")


@needs_newest
@pytest.mark.nightly
@pytest.mark.parametrize("few, many", [(TP2, TP2 + DP2), (DP2, DP4), (DP2, TP2 + DP2)])
def test_four_ranks_with_dtensors_compute_what_two_do(record, few, many):
    status, _, summary = compare(record("dtensor", *few, python=NEWEST), record("dtensor", *many, python=NEWEST))
    assert status == 0, summary["text"]
    assert summary["compared_tensors"] == summary["golden_tensors"] > 1500


@needs_newest
@pytest.mark.nightly
def test_gradients_that_are_zero_but_for_rounding_are_known_in_parts(record):
    _, slots, _ = compare(record("dtensor", *DP2, python=NEWEST), record("dtensor", *DP4, python=NEWEST))
    cut = [slot for slot in slots if slot["operator"].startswith("Default/optimizer-SGD") and slot.get("relative_l2", 0) > 0.1]
    assert len(cut) == 8  # of 2 ranks and steps: the biases of keys of 2 blocks
    assert {slot["verdict"] for slot in cut} == {"rounding"}


@needs_newest
def test_a_dtensor_is_wrong_on_its_rank(record):
    status, _, summary = compare(record("dtensor", python=NEWEST), record("dtensor", "--tp", "2", "--fault", "weight", python=NEWEST))
    assert status == 1
    assert summary["first_bad"]["wrong_ranks"] == [1]
    assert "1-Block/down-Linear" in summary["first_bad"]["operator"], summary["text"]


def test_blame_answers_as_compare_does(record):
    """No operator of a rank can run again on the whole."""
    golden, faulty = record("megatron"), record("megatron", "--tp", "2", "--fault", "norm")
    same = subprocess.run([OPDUMP, "blame", golden, record("megatron", "--tp", "2"), "--json"], capture_output=True, text=True)
    assert same.returncode == 0 and json.loads(same.stdout)["outcome"] in ("same", "rounding"), same.stdout
    done = subprocess.run([OPDUMP, "blame", golden, faulty, "--json"], capture_output=True, text=True)
    compared = subprocess.run([OPDUMP, "compare", golden, faulty, "--json"], capture_output=True, text=True)
    assert done.returncode == compared.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["findings"][0]["operator"] == json.loads(compared.stdout.splitlines()[-1])["first_bad"]["operator"]
    assert any("one run has more ranks than the other" in note for note in answer["notes"])
