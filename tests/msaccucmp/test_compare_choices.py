"""What `opdump msaccucmp compare` decides in rarer cases, and says of it. Needs no reference data."""
import json

import numpy as np
import pytest

from make_network import write_dump
from test_compare_rules import X, compare, dump, golden, graph, operator, rows_in

BIG = np.where(X == 1, 65504, X).astype(np.float16)
BOTH_NPU = "Both compare data are NPU dump data, not support overflow detection."


@pytest.fixture
def network(tmp_path):
    """One operator that overflows: its dump, its rules, two golden sides."""
    return (dump(tmp_path / "my", Relu__r=([X], [BIG])), graph(tmp_path / "r.json", operator("r", "Relu", 1, [], ["r"], "r")),
            golden(tmp_path / "gold", r=BIG), dump(tmp_path / "npu", Relu__r=([X], [BIG])))


def test_overflow_of_one_operator(network, tmp_path):
    mine, rules, right, other = network
    file = next(mine.iterdir())
    done = compare("-m", mine, "-g", right, "-f", rules, "-op", "r", "-overflow_detection", "-out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    said = [line.split(" - ", 1)[-1] for line in done.stderr.splitlines()]
    begin = said.index("[INFO] Checking r operator overflow")
    assert said[begin + 1:begin + 7] == [
        f"[INFO] [r] [Offline] ['{file}']", f"[INFO] Start to parse the data of input:0 in \"'{file}'\".",
        f"[INFO] Start to parse the data of output:0 in \"'{file}'\".", "[INFO] TensorIndex         Overflow            ",
        "[INFO] output:0            yes                 ", "[INFO] r operator has overflowed."]
    for more in ([], ["-f", rules, "-cf", rules]):
        done = compare("-m", mine, "-g", other, *more, "-op", "r", "-overflow_detection", "-out", tmp_path / "out")
        assert BOTH_NPU in done.stderr and "Checking" not in done.stderr


@pytest.mark.parametrize("inputs, outputs, said", [
    ([], [X], ["The input data type of r operator is not float16.", "There is no input in", "is not overflow."]),
    ([], [], ["The input data type of r operator is not float16.", "The output data type of r operator is not float16."])])
def test_overflow_of_few_tensors(inputs, outputs, said, network, tmp_path):
    _, rules, right, _ = network
    mine = dump(tmp_path / "few", Relu__r=(inputs, outputs))
    done = compare("-m", mine, "-g", right, "-f", rules, "-op", "r", "-overflow_detection", "-out", tmp_path / "out")
    assert all(words in done.stderr for words in said)
    assert ("There is no input" in done.stderr) == (len(said) == 3)


def test_layouts_and_shapes_that_differ(tmp_path):
    """Tensors of two runs may be in different layouts, as in the newer version of the original, but not of different shapes."""
    for folder, layout, other in (("my", 0, X), ("npu", 2, X[:, :1])):
        (tmp_path / folder).mkdir()
        write_dump(tmp_path / folder / "Relu.r.1.2.1700000000000000", [(X, X.shape, layout)], [(other, other.shape, 0)])
    done = compare("-m", tmp_path / "my", "-g", tmp_path / "npu", "-out", tmp_path)
    shapes = [str(array.shape) for array in (X, X[:, :1])]
    assert done.returncode == 0 and f"[ERROR] [r] The shape does not match ({shapes[0]} vs {shapes[1]}) for r:output:0.\n" in done.stderr
    rows = rows_in(tmp_path)
    assert [(row[8], row[rows[0].index("MaxAbsoluteError")]) for row in rows[1:]] == [("r:input:0", "0.000000")]
    short, long = (dump(tmp_path / name, Relu__r=([], [np.ones(n, np.float16)])) for name, n in (("a", 2), ("b", 3)))
    done = compare("-m", short, "-g", long, "-op", "r", "-out", tmp_path)
    assert done.returncode == 11 and "data shape (2,) not equal to Ground Truth data shape (3,).Can not" in done.stderr


@pytest.mark.parametrize("option", ["-r", "-s"])
def test_an_empty_choice_chooses_all(option, network, tmp_path):
    mine, rules, right, _ = network
    done = compare("-m", mine, "-g", right, "-f", rules, option, "", "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row[1] for row in rows_in(tmp_path)] == ["OpSequence", "1", "1"]


def test_unfused_models_have_no_input_nodes_for_the_advisor(network, tmp_path):
    mine, rules, _, other = network
    data = graph(tmp_path / "data.json", operator("r", "Data", 1, [], ["r"], "r"))
    done = compare("-m", mine, "-g", other, "-f", data, "-cf", data, "-advisor", "-out", tmp_path)
    assert "FP16 Overflow detection matches" in done.stderr and "Input Inconsistent" not in done.stderr
    for file in mine.iterdir():
        write_dump(file, [], [(X, X.shape, 0)])
    done = compare("-m", mine, "-g", other, "-f", data, "-cf", data, "-advisor", "-out", tmp_path)
    assert "Global Consistency" in done.stderr and "Input Inconsistent" not in done.stderr


def test_shared_buffers_of_quantised_models(tmp_path):
    """Operators of one original that share the first-level buffer: the newest stands for all."""
    mine = dump(tmp_path / "my", Conv__a_quant=([], [X]), Conv__b_quant=([], [X]))
    ops = [operator(name, "Conv", i, [], ["q"], "q") for i, name in enumerate(("a_quant", "b_quant"))]
    for op in ops:
        op["attr"].append({"key": "_L1_fusion_sub_graph_no", "value": {"s": "7"}})
    offline, quant = graph(tmp_path / "o.json", *ops), graph(tmp_path / "q.json", operator("q", "Conv", 1, [], ["c"], "c"))
    done = compare("-m", mine, "-g", golden(tmp_path / "gold", c=X), "-f", offline, "-q", quant, "-out", tmp_path)
    assert [row[7] for row in rows_in(tmp_path)[1:]] == ["b_quant:output:0"], done.stderr


def batch_of(tmp_path, names):
    rules = tmp_path / "rules"
    rules.mkdir()
    for name in names:
        (rules / f"{name}.json").write_text(json.dumps({"graph": [{"name": name, "op": [
            operator("r", "Relu", 1, [], ["r"], "r")]}]}))
        place = tmp_path / f"20231121113152/0/{name}/7/1"
        place.mkdir(parents=True)
        write_dump(place / "Relu.r.1.2.1700000000000000", [], [(X, X.shape, 0)])
    return tmp_path / "20231121113152", rules


def test_batches(tmp_path):
    mine, rules = batch_of(tmp_path, ["a", "b"])
    right = golden(tmp_path / "gold", r=X)
    arguments = ["-m", mine, "-g", right, "-f", rules, "-out", tmp_path / "out"]
    (rules / "c.json").write_text('{"graph": [{"name": "c", "op": 5}]}')  # no dump needs its operators
    done = compare(*arguments)
    assert done.returncode == 3 and "does not match the path format" in done.stderr
    (rules / "c.json").unlink()
    assert compare(*arguments).returncode == 0
    assert len(list((tmp_path / "out").glob("0_?_1_result_*.csv"))) == 2
    for file in (mine / "0/a/7/1").iterdir():
        file.unlink()
    (tmp_path / "out").rename(tmp_path / "before")
    done = compare(*arguments)
    assert done.returncode == 18 and not list((tmp_path / "out").glob("*.csv"))  # the first failure ends it


@pytest.mark.parametrize("content, said", [
    ('{"graph": [{"op": []}]}', '[WARNING] There is no "name" element in fusion rule file.'),
    ('{"graph": [{"name": 5}]}', 'The "name" element is not a string.'), ("[", "[ERROR] Failed to load json object.")])
def test_rules_of_a_batch_that_are_none(content, said, tmp_path):
    mine, rules = batch_of(tmp_path, ["a"])
    (rules / "x.json").write_text(content)
    done = compare("-m", mine, "-g", golden(tmp_path / "gold", r=X), "-f", rules, "-out", tmp_path / "out")
    assert done.returncode == 13 and said in done.stderr
