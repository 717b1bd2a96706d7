"""What `opdump msaccucmp` warns of as the original does: large files, and names without a time. Needs no
reference data."""
import os
import struct
import subprocess

import numpy as np
import pytest
from conftest import STAMP, convert, dump_file, msaccucmp, tensor
from test_compare_rules import compare, dump, golden, graph, operator, rows_in

FLOAT, ND = 1, 2
X = np.arange(1, 25, dtype=np.float16).reshape(1, 2, 3, 4)
MORE = (1 << 30) + 1


def warnings(done):
    lines = [STAMP.sub("", line) for line in done.stderr.splitlines()]
    return [line.removeprefix("[WARNING] ") for line in lines if line.startswith("[WARNING]")]


def grown(path, size=MORE):
    os.truncate(path, size)  # without blocks on the disk
    return path


def size_warning(path, size=MORE):
    return f"The size ({size}) of '{path}' exceeds 1GB, it may task more time to run, please wait."


def large(done, folder):
    return [line.replace(str(folder), "") for line in warnings(done) if "exceeds 1GB" in line]


def test_large_dump_files(tmp_path):
    """The original looks twice."""
    file = dump_file(tmp_path / "Add.op.1.2.1700000000000001", [tensor(FLOAT, ND, [1], bytes(4))])
    assert large(convert("-d", grown(file, 1 << 30), "-out", tmp_path / "out"), tmp_path) == []
    done = convert("-d", grown(file), "-out", tmp_path / "out")
    assert done.returncode == 0 and large(done, tmp_path) == [size_warning("/" + file.name)] * 2
    done = convert("-d", file, "-f", "ND", "-out", tmp_path / "out")
    assert done.returncode == 0 and large(done, tmp_path) == [size_warning("/" + file.name)] * 2


def test_large_arrays(tmp_path):
    for name, count in (("a.npy", 1), ("b.npy", 2)):
        np.save(tmp_path / name, np.zeros(count))
        grown(tmp_path / name)
    for verb, more in (("compare", []), ("file_compare", ["-out", tmp_path])):
        done = msaccucmp(verb, "-m", tmp_path / "a.npy", "-g", tmp_path / "b.npy", *more)
        assert done.returncode == 23 and large(done, tmp_path) == [size_warning("/a.npy"), size_warning("/b.npy")]
    done = convert("-d", tmp_path / "a.npy", "-out", tmp_path / "out")
    assert large(done, tmp_path) == [size_warning("/a.npy")] * 2


def test_large_files_in_a_comparison(tmp_path):
    mine = dump(tmp_path / "my", Relu__op=([], [X]))
    right = golden(tmp_path / "gold", op=X)
    for folder in (mine, right):
        for file in folder.iterdir():
            grown(file)
    rules = graph(tmp_path / "model.json", operator("op", "Relu", 1, [], ["op"], "op"))
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert large(done, tmp_path) == [size_warning("/my/Relu.op.1.2.1700000000000000")] * 2 + \
        [size_warning("/gold/op.0.1700000000000001.npy")] * 2


def nano(sizes):
    """A file of a nano device with one output, of `sizes[0]` bytes as it says and `sizes[1]` bytes in fact."""
    item = struct.pack("<6i3QI", 0, ND, 0, 0, 0, ND, 0, 0, sizes[0], 0)
    text = struct.pack("<6I", 0x5A5A5A5A, 0, 5, 4 + len(item), 1, 0)[:20] + item
    return struct.pack("<Q", len(text)) + text + bytes(sizes[1])


DAMAGED = [(b"", 11), (b"1234", 0), (struct.pack("<Q", 0) + b"x", 0), (struct.pack("<Q", 99) + b"x", 11),
           (struct.pack("<Q", 3) + b"\xff\xff\xff", 11), (nano((4, 3)), 39), (nano((4, 9)), 39), (b"\xff" * 8 + nano((4, 4))[8:], 11),
           (nano((4, 4))[:40], 11), (struct.pack("<QI", 5, 0x5A5A5A5A) + b"x", 47)]


@pytest.mark.parametrize("content, status", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_files_in_a_comparison(content, status, tmp_path):
    """What is said of them is what `convert` says."""
    mine = dump(tmp_path / "my", Relu__op=([], [X]), Add__sum=([], [X]))
    [file] = mine.glob("Relu.*")
    file.write_bytes(content)
    rules = graph(tmp_path / "model.json", operator("op", "Relu", 1, [], ["op"], "op"), operator("sum", "Add", 2, [], ["sum"], "sum"))
    done = compare("-m", mine, "-g", golden(tmp_path / "gold", op=X, sum=X), "-f", rules, "-out", tmp_path)
    said = [STAMP.sub("", line) for line in done.stderr.splitlines()]
    printed = [STAMP.sub("", line) for line in convert("-d", file, "-out", tmp_path / "out").stderr.splitlines()]
    printed = [line for line in printed if not line.startswith(("[INFO]", "[WARNING] There is no ", "[ERROR] Failed to parse dump file \"/"))]
    assert [line for line in said if line in printed] == printed and (printed or content[8:] == b"x")
    [row, _] = rows_in(tmp_path)[1:]
    assert row[-1] in ("", "[op] There is no dump file for my output operator \"op\". The type is Relu.")
    assert done.returncode == status


def times(done):
    return [line for line in warnings(done) if "is invalid." in line]


def with_more(folder, name, other):
    """The file `name` once more, called `other`."""
    (folder / other).write_bytes((folder / name).read_bytes())


def test_times_of_several_files(tmp_path):
    """Of one file nothing has to be put in order."""
    mine = dump(tmp_path / "my", Relu__op=([], [X]))
    right = golden(tmp_path / "gold", op=X)
    rules = graph(tmp_path / "model.json", operator("op", "Relu", 1, [], ["op"], "op"))
    (mine / "Relu.op.1.2.1700000000000000").rename(mine / "Relu.op.1.2.17")
    assert times(compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)) == []
    with_more(mine, "Relu.op.1.2.17", "Relu.op.1.2.1700000000000000")
    with_more(right, "op.0.1700000000000001.npy", "op.0.3.npy")
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert times(done) == ["The file name \"Relu.op.1.2.17\"'s timestamp is invalid.",
                           "The file name \"op.0.3.npy\"'s timestamp is invalid."]
    [printed] = [line for line in done.stderr.splitlines() if "[op] [Offline]" in line]
    assert printed.endswith(f"['{mine}/Relu.op.1.2.17', '{mine}/Relu.op.1.2.1700000000000000']")  # without a time: the oldest


def test_times_between_two_runs(tmp_path):
    """There the last file's time orders the operators, even with one file."""
    mine, right = (dump(tmp_path / name, Relu__op=([], [X]), Add__sum=([], [X])) for name in ("my", "gold"))
    (mine / "Relu.op.1.2.1700000000000000").rename(mine / "Relu.op.1.2.17")
    with_more(right, "Add.sum.1.2.1700000000000001", "Add.sum.1.2.5")
    done = compare("-m", mine, "-g", right, "-out", tmp_path)
    assert done.returncode == 0
    assert times(done) == ["The file name \"Relu.op.1.2.17\"'s timestamp is invalid.",
                           "The file name \"Add.sum.1.2.5\"'s timestamp is invalid."]
    assert [row[2] for row in rows_in(tmp_path)[1:]] == ["op", "sum"]


@pytest.mark.parametrize("names, said", [
    (["Relu.op.1.2.17.4.7.0.0", "Relu.op.1.2.1700000000000001.4.7.1.0"], ["Relu.op.1.2.17.4.7.0.0\"'s timestamp"]),
    (["Relu.op.1.2.1700000000000000.4.7.0.0", "Relu.op.1.2.1700000000000001.4.7.x.0"],
     ["Relu.op.1.2.1700000000000001.4.7.x.0\"'s thread_id"]),
    (["Relu.op_lxslice0_a.1.2.1700000000000000.4.7.0.0", "Relu.op_lxslice1_a.1.2.1700000000000001.4.7.1.0"],
     [f"Relu.op_lxslice{i}_a.1.2.170000000000000{i}.4.7.{i}.0\"'s slice_x" for i in (0, 1)])])
def test_slices(names, said, tmp_path):
    mine = dump(tmp_path / "my", Relu__op=([], [X]))
    for name in names:
        with_more(mine, "Relu.op.1.2.1700000000000000", name)
    (mine / "Relu.op.1.2.1700000000000000").unlink()
    rules = graph(tmp_path / "model.json", operator("op", "Relu", 1, [], ["op"], "op"),
                  operator("op_a", "Relu", 2, [], ["op_a"], "op_a"))
    done = compare("-m", mine, "-g", golden(tmp_path / "gold", op=X, op_a=X), "-f", rules, "-out", tmp_path)
    assert [line for line in times(done) if "axis" not in line] == [f'The file name "{text} is invalid.' for text in said]


def test_large_tables(tmp_path):
    """An operator stands for one with a very long name, in each of its rows."""
    mine = dump(tmp_path / "my", Relu__op=([], [X] * 3))
    right = golden(tmp_path / "gold", op=X)
    for size, count in ((1 << 20, 0), (36 << 20, 1)):
        rules = graph(tmp_path / "model.json", operator("op", "Relu", 1, [], ["o" * size], "op"))
        out = tmp_path / f"out{size}"
        with open(tmp_path / "said", "wb") as said:
            words = [os.environ["OPDUMP_BIN"], "msaccucmp", "compare", "-m", mine, "-g", right, "-f", rules, "-alg", "1", "-out", out]
            assert subprocess.run(words, stderr=said, check=False).returncode == 0
        with open(tmp_path / "said", encoding="ascii") as said:
            printed = [line for line in said if "exceeds 100MB" in line]
        [table] = out.iterdir()
        expected = f"The size ({table.stat().st_size}) of '{table}' exceeds 100MB, it may task more time to run, please wait.\n"
        assert [STAMP.sub("", line) for line in printed] == [f"[WARNING] {expected}"] * count
