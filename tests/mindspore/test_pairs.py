"""Two runs of one program of MindSpore: what is compared with what, and how a fault is named."""

import json
import os
import pathlib
import re

import pytest
from test_referee import OPDUMP, PROGRAMS, PYTHON, run

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no MindSpore from PyPI: tools/fetch_mindspore.sh")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Dumps a program once: made(name), made(name, argument)."""
    directory = tmp_path_factory.mktemp("pairs")

    def dump(name, *arguments):
        path = directory / "-".join([name, *arguments])
        if not path.exists():
            run([OPDUMP, "run", "-o", path, "--steps", "all", "--", PYTHON, PROGRAMS / f"{name}.py", *arguments], directory)
        return path

    return dump


def compare(golden, actual, status):
    text = run([OPDUMP, "compare", golden, actual, "--json"], golden.parent, status)
    return json.loads(text.splitlines()[-1])


def test_graphs_of_a_loop_are_in_the_order_of_execution(made):
    """The condition runs before the body, and its graphs have higher numbers than what runs after them."""
    golden = made("loop")
    listed = run([OPDUMP, "ls", golden, "--step", "0"], golden.parent)
    order = [int(number) for number in re.findall(r"^rank 0, graph (\d+), step 0$", listed, re.M)]
    times = {}
    for file in (golden / "rank_0").glob("*/*/0/*.npy"):
        if not file.name.startswith("Parameter"):
            time = int(file.name.split(".")[-6])
            times.setdefault(int(file.parent.parent.name), []).append(time)
    assert order != sorted(order) and order[0] == min(times, key=lambda graph: min(times[graph])), order
    assert listed.rstrip().splitlines()[-1].strip().startswith("output.0") and "(Parameter" in listed.split("graph")[-1], "written last"
    for name in re.findall(r"^  (\S+)  \((?!Parameter)", listed, re.M):
        assert "/" in name, "it has its scope"


def test_a_fault_in_a_branch(made):
    fault = compare(made("loop"), made("loop", "fault"), 1)
    assert fault["first_bad"]["operator"].endswith("/Mul-op0") and "is 0.5 in golden and 0.6 in actual" in fault["text"], fault["text"]


@pytest.mark.parametrize("wrong, operator, words", [
    ("bn", "Default/BatchNorm-op0", "is 1e-05 in golden and 0.01 in actual"),
    ("ln", "Default/LayerNorm-op0", "is 1e-07 in golden and 0.01 in actual"),
    ("axis", "Default/Softmax-op0", "is [1] in golden and [0] in actual"),
])
def test_arguments(made, wrong, operator, words):
    fault = compare(made("arguments"), made("arguments", wrong), 1)
    assert (fault["first_bad"]["operator"], fault["first_bad"]["verdict"]) == (operator, "argument_differs"), fault
    assert words in fault["text"]


@pytest.mark.parametrize("kernels, input_output", [(["name-regex(Default/.+)"], 0), (["BatchNorm", "MatMul"], 0), ([], 2)])
def test_a_part_against_the_whole(made, tmp_path, kernels, input_output):
    """Of a dump that MindSpore made without us, which says in .dump_metadata what it was asked for."""
    common = {"op_debug_mode": 0, "dump_mode": 1 if kernels else 0, "path": str(tmp_path / "part"), "net_name": "net", "iteration": "all",
              "saved_data": "tensor", "input_output": input_output, "kernels": kernels, "support_device": [0]}
    config = pathlib.Path(tmp_path / "data_dump.json")
    config.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}))
    run([PYTHON, PROGRAMS / "arguments.py"], tmp_path, MINDSPORE_DUMP_CONFIG=str(config))
    whole = made("arguments")
    for golden, actual in (whole, tmp_path / "part"), (tmp_path / "part", whole):
        answer = compare(golden, actual, 0)
        assert answer["compared_tensors"] > 0 and any("left out" in note for note in answer["notes"]), answer
