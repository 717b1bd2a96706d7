"""`opdump convert`: its output has the full names, source lines and reasons of the dump that it was made of."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy")
HERE = pathlib.Path(__file__).resolve().parent
LONG = "Default/" + "backbone-Sequential/" * 10 + "conv-Conv2d/convolution-op"  # longer than names of files may be
VIEW, GHOST = "Default/flatten-Flatten/view-op0", "Default/empty-op1"


def opdump(*arguments):
    return subprocess.run([os.environ["OPDUMP_BIN"], *map(str, arguments)], capture_output=True, text=True)


def convert(*arguments):
    done = opdump("convert", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def operator(name, **more):
    return {"kind": "operator", "type": "conv.2d", "name": name, "phase": "backward", "graph_id": 0, "stream": 0, **more}


def slot(name, step, index=0):
    return {"kind": "slot", "name": name, "graph_id": 0, "step": step, "side": "output", "index": index, "dtype": "float16",
            "shape": [2, 3], "reason": "view"}


def write_log(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def names_of(folder, kind="operator"):
    lines = (folder / "rank_0/operators.jsonl").read_text().splitlines()
    return [line["name"] for line in map(json.loads, lines) if line["kind"] == kind]


@pytest.fixture
def dump(tmp_path):
    """Two steps of four operators, two whose names differ far behind, one that has no data of one slot, and one that has none."""
    subprocess.run([sys.executable, HERE / "make_dump.py", tmp_path / "dump", "steps=2"], check=True)
    log = tmp_path / "dump/rank_0/operators.jsonl"
    lines = list(map(json.loads, log.read_text().splitlines()))
    for number in (7, 8):
        lines.append(operator(f"{LONG}{number}", source_file="net.py", source_line=number))
    lines += [operator(VIEW, original_names=["Conv_0", "Relu_1"]), operator(GHOST), slot(VIEW, 0), slot(GHOST, 1)]
    write_log(log, lines)
    for step in (0, 1):
        files = [(f"{LONG}{number}", 200 + number, "output.0") for number in (8, 7)] + [(VIEW, 300, "input.0")]
        for name, time, place in files:
            spelled = "".join("_" if c in "/. " else c for c in name)
            file = f"conv.2d.{spelled}.0.0.{1700000000000000 + 1000 * step + time}.{place}.DefaultFormat.float32.npy"
            folder = tmp_path / f"dump/rank_0/tiny/0/{step}"
            if len(file) > 255:
                (folder / "mapping.csv").open("a").write(f"{time}.npy,{file}\n")
                file = f"{time}.npy"
            numpy.save(folder / file, numpy.arange(time, dtype="float32"))
    return tmp_path / "dump"


@pytest.mark.parametrize("to", ["npy", "npz", "safetensors"])
def test_the_output_knows_what_the_dump_knew(dump, tmp_path, to):
    assert "converted 30 tensors" in convert(dump, "-o", tmp_path / "out", "--to", to).stdout
    printed = {}
    for path in (dump, tmp_path / "out"):
        text = opdump("ls", path).stdout
        printed[path] = sorted(text[text.index("rank 0, graph 0"):].splitlines())
    assert printed[dump] == printed[tmp_path / "out"] and f"  {LONG}7  (conv.2d, backward, net.py:7)" in printed[dump]
    assert sum(f"  {GHOST} " in line for line in printed[dump]) == 1 and sum("view" in line for line in printed[dump]) >= 3
    for golden, actual in ((dump, tmp_path / "out"), (tmp_path / "out", dump)):
        done = opdump("compare", golden, actual, "--all", "--json")
        assert done.returncode == 0, done.stdout
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        operators = {row["operator"] for row in rows if "operator" in row}
        assert f"{LONG}7" in operators and f"{LONG}8" in operators and not any("Default_" in name for name in operators)
    shown = opdump("show", tmp_path / "out", f"{LONG}8", "--step", 1).stdout
    assert shown.startswith(f"{LONG}8  (conv.2d, backward, net.py:8)\n") and "float32 (208)" in shown
    convert(tmp_path / "out", "-o", tmp_path / "again", "--to", to)
    made = {path.relative_to(tmp_path / "out"): path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}
    if to == "npy":
        assert made == {path.relative_to(tmp_path / "again"): path.read_bytes() for path in (tmp_path / "again").rglob("*.*")}


def test_parts_of_a_dump_one_after_the_other(dump, tmp_path):
    every = tmp_path / "every"
    convert(dump, "-o", every)
    expected = (every / "rank_0/operators.jsonl").read_bytes()
    assert sorted(names_of(every)) == sorted(names_of(dump)) and names_of(every, "slot") == [VIEW, GHOST]
    convert(dump, "-o", every, "--op", "relu")
    convert(dump, "-o", every, "--step", 1)
    assert (every / "rank_0/operators.jsonl").read_bytes() == expected
    parts = tmp_path / "parts"
    convert(dump, "-o", parts, "--op", "relu-op0", "--step", 1)
    assert names_of(parts) == ["Default/relu-ReLU/relu-op0"]
    convert(dump, "-o", parts, "--slot", "input.0", "--step", 1)
    assert names_of(parts, "slot") == []
    convert(dump, "-o", parts, "--step", 1)
    assert [line["step"] for line in map(json.loads, (parts / "rank_0/operators.jsonl").read_text().splitlines())
            if line["kind"] == "slot" and line["name"] == VIEW] == [1]
    convert(dump, "-o", parts)
    assert sorted((parts / "rank_0/operators.jsonl").read_bytes().splitlines()) == sorted(expected.splitlines())


def test_lines_that_are_there(dump, tmp_path):
    folder = tmp_path / "out/rank_0"
    folder.mkdir(parents=True)
    relu, conv = "Default/relu-ReLU/relu-op0", "Default/conv1-Conv2d/convolution-op0"
    write_log(folder / "operators.jsonl", [
        operator("before"), operator(relu, source_file="old.py", source_line=1), operator("behind relu"), slot("behind relu", 3),
        operator(relu), operator("also behind relu"), operator(conv), operator("behind conv")])
    with (folder / "operators.jsonl").open("a") as log:
        log.write('{"kind":"note"}\n{"kind":"operator","na')  # unknown, and torn
    convert(dump, "-o", tmp_path / "out", "--step", 0, "--op", "conv1")
    convert(dump, "-o", tmp_path / "out", "--step", 0)
    text = (folder / "operators.jsonl").read_text()
    assert names_of(tmp_path / "out")[:7] == ["before", conv, "behind conv", relu, "behind relu", "also behind relu",
                                              "Default/conv2-Conv2d/convolution-op1"]
    assert "old.py" not in text and '{"kind":"note"}\n' in text and text.endswith("\n") and names_of(tmp_path / "out", "slot")[0] == "behind relu"


def test_no_link_is_followed(dump, tmp_path):
    folder = tmp_path / "out/rank_0"
    folder.mkdir(parents=True)
    victim = tmp_path / "victim"
    write_log(victim, [operator("elsewhere")])
    before = victim.read_bytes()
    (folder / "operators.jsonl").symlink_to(victim)
    convert(dump, "-o", tmp_path / "out")
    assert victim.read_bytes() == before and not (folder / "operators.jsonl").is_symlink()
    assert "elsewhere" not in names_of(tmp_path / "out")
    (folder / "operators.jsonl").unlink()
    (folder / "operators.jsonl").mkdir()
    done = opdump("convert", dump, "-o", tmp_path / "out")
    assert done.returncode == 3 and "operators.jsonl" in done.stderr and "converted 30 tensors" in done.stdout


def test_where_there_is_nothing_to_tell(dump, tmp_path):
    convert(dump, "-o", tmp_path / "text", "--to", "txt")
    (dump / "rank_0/operators.jsonl").unlink()
    convert(dump, "-o", tmp_path / "npy")
    assert not list(tmp_path.glob("[tn]*/rank_0/operators.jsonl"))
