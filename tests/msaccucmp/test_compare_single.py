"""One tensor element by element (`-op`): names, lists of the largest errors, options. Needs no reference data."""
import uuid

import numpy as np
import pytest

from conftest import dump_file, tensor
from test_compare_rules import compare, dump, golden, graph, operator

X = np.array([0, 1, 2, 0, 3, 5, 0, 2, 1, 4, 0, 6], np.float16).reshape(1, 2, 3, 2)
Y = np.array([0, 1.5, 0, 0, 2, 5, 1, 0, 1, 4, 0, 0], np.float16).reshape(1, 2, 3, 2)
LONG = "a" * 225
ND, FRACTAL_Z = 2, 4


def one(folder, op="r"):
    rules = graph(folder / "model.json", operator(op, "Relu", 1, [], [op], op))
    return dump(folder / "my", **{f"R__{op}": ([], [X])}), golden(folder / "gold", **{op: Y}), rules


def run(folder, mine, right, rules, *more):
    return compare("-m", mine, "-g", right, "-f", rules, "-out", folder / "out", *more)


def test_zeros_by_zero_stand_where_python_leaves_them(tmp_path):
    """NaN is in no order; which errors come before it depends on the way Python sorts."""
    assert run(tmp_path, *one(tmp_path), "-op", "r").returncode == 0
    for kind, order in (("absolute", [11, 7, 2, 6, 4, 1, 10, 9, 8, 5, 3]), ("relative", [2, 3, 6, 4, 1, 7, 9, 8, 5, 10, 11])):
        lines = (tmp_path / f"out/r_output_0_{kind}_error_topn.csv").read_text().splitlines()
        assert [int(line.split(",")[0]) for line in lines[1:]] == order


def test_names_that_are_too_long(tmp_path):
    arguments = [tmp_path, *one(tmp_path, LONG), "-op", LONG]
    lists = [f"_{kind}_error_topn.csv" for kind in ("absolute", "relative")]
    lines = [f"{uuid.uuid3(uuid.NAMESPACE_DNS, f'{LONG}_output_0{end}').hex}{end},{LONG}_output_0{end}\n" for end in lists]
    mapping = tmp_path / "out/simple_op_mapping.csv"
    (tmp_path / "out").mkdir()
    mapping.write_text("b.npy,other_output_0.npy\na.csv,other_output_0_0.csv\n")
    for _ in range(2):
        assert run(*arguments).returncode == 0
        assert mapping.read_text() == "b.npy,other_output_0.npy\na.csv,other_output_0_0.csv\n" + "".join(lines)
        assert all((tmp_path / "out" / line.split(",")[0]).exists() for line in lines)


def test_what_is_true_or_false_has_no_errors(tmp_path):
    rules = graph(tmp_path / "model.json", operator("nan/op", "Less", 1, [], ["nan/op"], "nan/op"))
    bits = np.array([True, False, True])
    right = tmp_path / "gold"
    right.mkdir()
    np.save(right / "nan_op.0.1700000000000001.npy", bits)
    np.save(tmp_path / "bits.npy", bits)
    mine = tmp_path / "my"
    mine.mkdir()
    dump_file(mine / "Less.nan_op.1.2.1700000000000001", [tensor(11, 2, bits.shape, bits.tobytes())])
    assert run(tmp_path, mine, right, rules, "-op", "nan/op").returncode == 0
    text = (tmp_path / "out/nan_op_output_0_summary.txt").read_text()
    assert "NPUDump:-/op\nGroundTruth:-/op\n" in text and text.endswith("MaxRelativeError:-\n")


@pytest.mark.parametrize("option, status", [(["-i", ""], 0), (["-o", ""], 0), (["-o", "0"], 0), (["-i", "0"], 12), (["-o", "9" * 30], 12),
                                            (["-o", "-1"], 6), (["-o", "x"], 6)])
def test_indices(option, status, tmp_path):
    assert run(tmp_path, *one(tmp_path), "-op", "r", *option).returncode == status
    assert (tmp_path / "out/r_output_0_summary.txt").exists() == (status == 0)


@pytest.mark.parametrize("option, status", [
    (["-r", f"1,{'9' * 30},1"], 12), (["-r", f"{'9' * 30},,"], 12), (["-s", "9" * 30], 6), (["-s", f"1,{'9' * 30}"], 0), (["-map", "-o", ""], 0),
    (["-map", "-o", "0"], 6), (["-o", ""], 6)])
def test_numbers_beyond_all_operators(option, status, tmp_path):
    assert run(tmp_path, *one(tmp_path), *option).returncode == status


@pytest.mark.parametrize("option, status", [("-n", 12), ("-ml", 6), ("-max", 0)])
def test_numbers_beyond_all_bounds(option, status, tmp_path):
    assert run(tmp_path, *one(tmp_path), "-op", "r", option, "9" * 30).returncode == status


def two_dumps(folder, dtype, fmt, left, right):
    for name, array in (("my", left), ("npu2", right)):
        (folder / name).mkdir()
        dump_file(folder / name / "Relu.r.1.2.1700000000000001", [tensor(dtype, fmt, array.shape, array.tobytes())])
    done = compare("-m", folder / "my", "-g", folder / "npu2", "-op", "r", "-n", 1, "-out", folder / "out")
    assert done.returncode == 0, done.stderr
    return (folder / "out/r_output_0_absolute_error_topn.csv").read_text().splitlines()


@pytest.mark.parametrize("dtype, number, position", [("f4", 1, 4), ("f2", 2, 2), ("i4", 7, 2)])
def test_the_largest_of_equal_errors(dtype, number, position, tmp_path):
    """NumPy looks for it otherwise among float32 than among float16 and integers."""
    errors = np.array([2, 0, 2, 1, 2, 0], dtype)
    assert np.argpartition(errors, -1)[-1] == position
    lines = two_dumps(tmp_path, number, ND, errors, np.zeros_like(errors))
    assert lines[1].split(",")[0] == str(position)


@pytest.mark.parametrize("shape, axes", [((), "ID"), ((1, 1, 16, 16), "N C H W")])
def test_axes_of_filters_without_rules(shape, axes, tmp_path):
    array = np.ones(shape, np.float32)
    assert two_dumps(tmp_path, 1, FRACTAL_Z, array, array)[0].startswith(f"Index,{axes},NPUDump")
