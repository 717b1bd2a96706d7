"""Operators that FFTS+ executed in slices, by threads of the hardware or slices of the compiler. Needs no reference data."""
import json

import numpy as np
import pytest

from conftest import field
from make_network import NCHW, operator, shape
from test_compare_rules import compare, golden, graph, rows_in

X = np.arange(1, 49, dtype=np.float16).reshape(1, 4, 3, 4)


def slice_file(path, inputs, outputs, attributes, original=None):
    """A dump file with an attribute; `original` is the shape of the outputs in its message."""
    def tensor(array, dims, size, original):
        return (field(1, 2) + field(2, NCHW) + field(3, shape(dims)) + field(size, array.nbytes) +
                field(original, shape(array.shape)))

    message = field(1, b"2.0") + field(2, 1) + field(6, path.name.split(".")[1].encode())
    message += b"".join(field(4, tensor(array, array.shape, 5, 6)) for array in inputs)
    message += b"".join(field(3, tensor(array, original or array.shape, 6, 7)) for array in outputs)
    message += field(7, field(1, b"ffts") + field(2, json.dumps(attributes).encode()))
    payload = b"".join(array.tobytes() for array in [*inputs, *outputs])
    path.write_bytes(len(message).to_bytes(8, "little") + message + payload)


def sliced(tmp_path, axis, threads, count=2, told_count=2):
    """relu1 in `count` slices along `axis`, after data1, which was executed as a whole."""
    mine = tmp_path / "my"
    mine.mkdir()
    parts = np.split(X, 2, axis)[:count]
    cut = [1] * 4
    cut[axis] = 2
    ranges = [[[{"lower": 0, "higher": n} for n in part.shape]] for part in parts]
    attributes = {"slice_instance_num": told_count, "threadMode": threads, "outputCutList": [cut],
                  "output_tensor_slice": ranges}
    for i, part in enumerate(parts):
        name = f"Relu.relu1.1.2.170000000000000{i}.4.7.{i}.0" if threads else f"Relu.relu1_lxslice{i}.1.2.170000000000000{i}.4.7.0.0"
        slice_file(mine / name, [part], [np.ascontiguousarray(part * 2)], attributes, X.shape if threads else None)
    slice_file(mine / "Data.data1.1.2.1600000000000000", [], [X], {})
    rules = graph(tmp_path / "model.json", operator("data1", "Data", 1, []), operator("relu1", "Relu", 2, ["data1:0"]))
    return mine, golden(tmp_path / "gold", data1=X, relu1=X * 2), rules


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("axis", [1, 3])
def test_slices_are_compared_as_a_whole(tmp_path, axis, threads):
    mine, right, rules = sliced(tmp_path, axis, threads)
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = rows_in(tmp_path)
    at = rows[0].index("MaxAbsoluteError")
    # The input is that of data1: a slice has read a part of it.
    assert [[row[2], row[at - 3], row[at - 2], row[at], row[-1]] for row in rows[1:]] == [
        ["data1", "data1:output:0", "[1,4,3,4]", "0.000000", ""],
        ["relu1", "relu1:input:0", "[1,4,3,4]", "0.000000", ""],
        ["relu1", "relu1:output:0", "[1,4,3,4]", "0.000000", ""]]


def test_slices_that_are_missing(tmp_path):
    mine, right, rules = sliced(tmp_path, 1, True, count=2, told_count=3)
    compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert "The number of files does not match the number of thread" in rows_in(tmp_path)[-1][-1]


def test_slices_of_two_runs(tmp_path):
    mine, _, _ = sliced(tmp_path, 1, True)
    done = compare("-m", mine, "-g", mine, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row[-1] for row in rows_in(tmp_path)[1:]] == ["", "", ""]


def renamed(path, old, new):
    """The operator's name in the message, which has as many letters."""
    path.write_bytes(path.read_bytes().replace(old, new))


def test_names_of_slices_of_two_runs(tmp_path):
    """What the message calls the operator counts if its slices were not put together."""
    mine, _, _ = sliced(tmp_path, 1, True)
    for file in mine.glob("Relu.*"):
        renamed(file, b"relu1", b"reluX")
    compare("-m", mine, "-g", mine, "-out", tmp_path)
    assert {row[2] for row in rows_in(tmp_path)[1:]} == {"data1", "relu1"}
    for file in (*tmp_path.glob("result_*"), sorted(mine.glob("Relu.*"))[1]):
        file.unlink()
    compare("-m", mine, "-g", mine, "-out", tmp_path)
    assert {row[2] for row in rows_in(tmp_path)[1:]} == {"data1", "reluX"}


def test_slices_that_do_not_fit(tmp_path):
    mine, right, rules = sliced(tmp_path, 1, False)
    half = np.ascontiguousarray(X[:, :2])
    attributes = {"slice_instance_num": 2, "threadMode": False, "outputCutList": [[1, 2, 1, 1]], "output_tensor_slice": []}
    last = sorted(mine.glob("Relu.*"))[1]
    slice_file(last, [half], [half, half], attributes)
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 11 and "[ERROR] Inconsistent output length detected: expected 1, but got 2\n" in done.stderr
    slice_file(last, [half], [half], attributes, original=(1, 2, 3, 5))
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 40
    assert "[ERROR] The output_data shape 24 doesn't match the shape in dump file [1, 2, 3, 5]\n" in done.stderr


@pytest.mark.parametrize("cuts, outputs", [(1, [0]), (2, [0, 1]), (3, [0, 1])])
def test_outputs_of_which_no_cut_is_told(cuts, outputs, tmp_path):
    """They are lost, after their shapes have been looked at."""
    mine, right, rules = sliced(tmp_path, 1, False)
    attributes = {"slice_instance_num": 2, "threadMode": False, "outputCutList": [[1, 2, 1, 1]] * cuts, "output_tensor_slice": []}
    for file, part in zip(sorted(mine.glob("Relu.*")), np.split(X, 2, 1)):
        slice_file(file, [part], [np.ascontiguousarray(part * 2)] * 2, attributes)
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = dtypes_and_errors(tmp_path)
    assert [name for name in rows if name.startswith("relu1:output")] == [f"relu1:output:{i}" for i in outputs]
    assert all(rows[f"relu1:output:{i}"][2:] == ["[1,4,3,4]", "0.000000"] for i in outputs)
    slice_file(file, [part], [np.ascontiguousarray(part), part[:, :1].copy()], attributes, original=part.shape)
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 40 and "[ERROR] The output_data shape 12 doesn't match the shape in dump file [1, 2, 3, 4]\n" in done.stderr


def test_slices_without_an_axis(tmp_path):
    """The newest one counts, of equal ones the last."""
    mine, right, rules = sliced(tmp_path, 1, False)
    attributes = {"slice_instance_num": 2, "threadMode": False, "outputCutList": [[1, 1, 1, 1]], "output_tensor_slice": []}
    for file in mine.glob("Relu.*"):
        file.unlink()
    files = [mine / f"Relu.relu1_lxslice{i}.1.2.1700000000000000.4.7.0.0" for i in range(2)]
    for i, file in enumerate(files):
        slice_file(file, [X], [X * 2 + i], attributes)
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert f"The cut axis of Dump data is invalid. The current compare dump file is {files[1]}. All dump files are {files[0]},{files[1]}\n" in done.stderr
    assert dtypes_and_errors(tmp_path)["relu1:output:0"][3] == "1.000000"


def test_slices_apart(tmp_path):
    mine, right, rules = sliced(tmp_path, 1, False)
    done = compare("-m", mine, "-g", mine, "-ffts", "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row[2] for row in rows_in(tmp_path)[1:]] == ["data1", "relu1_lxslice0", "relu1_lxslice0", "relu1_lxslice1",
                                                         "relu1_lxslice1"]


def test_a_wrong_task_type(tmp_path):
    mine, right, rules = sliced(tmp_path, 1, True)
    [one, _] = sorted(mine.glob("Relu*"))
    one.rename(mine / "Relu.relu1.1.2.1700000000000000.9.7.0.0")
    assert compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path).returncode == 37


def test_statistics_are_told_from_dumps(tmp_path):
    """Of them the original says nothing, and ends with 37 too."""
    mine, _, _ = sliced(tmp_path, 1, True)
    statistics = tmp_path / "statistics"
    statistics.mkdir()
    name = "relu.Default_1-ReLU_relu-op0.15.0.1700000000000001.csv"
    (statistics / name).write_text("Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value\nOutput,0,16,DT_FLOAT,ND,4,4,1\n")
    for first, second in ((statistics, mine), (mine, statistics)):
        done = compare("-m", first, "-g", second, "-out", tmp_path)
        assert done.returncode == 37
        assert f'The file "{name}" in the path "{statistics}" is a table of statistics' in done.stderr
        assert '"opdump compare" compares statistics.' in done.stderr
    (statistics / name).rename(statistics / "Relu.relu1.1.2.1700000000000000.9.7.0.0")
    assert 'has the task type "9" in its name, which is none of 0 to 4.' in compare("-m", mine, "-g", statistics, "-out", tmp_path).stderr


def dtypes_and_errors(folder):
    rows = rows_in(folder)
    at = rows[0].index("MaxAbsoluteError")
    return {row[at - 3]: [row[3], row[6], row[at - 2], row[at]] for row in rows[1:]}


def chain(tmp_path):
    """relu2 reads what relu1 wrote, through a Cast; both in two slices."""
    mine = tmp_path / "my"
    mine.mkdir()
    attributes = {"slice_instance_num": 2, "threadMode": False, "outputCutList": [[1, 2, 1, 1]], "output_tensor_slice": []}
    for number, name in enumerate(("relu1", "relu2")):
        for i, part in enumerate(np.split(X, 2, 1)):
            slice_file(mine / f"Relu.{name}_lxslice{i}.1.2.17000000000000{number}{i}.4.7.0.0", [part], [part], attributes)
    ops = [operator("relu1", "Relu", 1, []), operator("cast", "Cast", 2, ["relu1:0"]), operator("relu2", "Relu", 3, ["cast:0"])]
    return mine, golden(tmp_path / "gold", relu1=X + 1, relu2=X), graph(tmp_path / "model.json", *ops)


def test_inputs_of_slices_are_what_slices_before_wrote(tmp_path):
    """Through Cast; but the dtypes stay those of the input, which could not be compared."""
    mine, right, rules = chain(tmp_path)
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode in (0, 2), done.stderr
    rows = dtypes_and_errors(tmp_path)
    assert rows["relu1:output:0"] == ["float16", "float32", "[1,4,3,4]", "1.000000"]
    assert rows["relu2:input:0"] == ["NaN", "NaN", "[1,4,3,4]", "1.000000"]
    assert rows["relu2:output:0"] == ["float16", "float32", "[1,4,3,4]", "0.000000"]


def test_inputs_of_an_only_slice(tmp_path):
    """One file of an operator in slices takes the result of slices before, too. What was executed as a whole stands
    only for what could not be compared."""
    mine, right, rules = chain(tmp_path)
    for file in mine.glob("Relu.relu2_*"):
        file.unlink()
    attributes = {"slice_instance_num": 1, "threadMode": False, "outputCutList": [[1, 1, 1, 1]], "output_tensor_slice": []}
    slice_file(mine / "Relu.relu2_lxslice0.1.2.1700000000000090.4.7.0.0", [X + 5], [X], attributes)
    compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert dtypes_and_errors(tmp_path)["relu2:input:0"] == ["float16", "float32", "[1,4,3,4]", "1.000000"]
    for file in (*mine.glob("Relu.relu1_*"), *tmp_path.glob("result_*")):
        file.unlink()
    slice_file(mine / "Relu.relu1.1.2.1700000000000000", [X], [X], {})
    compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert dtypes_and_errors(tmp_path)["relu2:input:0"] == ["float16", "float32", "[1,4,3,4]", "4.000000"]
