"""`opdump msaccucmp compare` writes the tables and files of the original, to the byte, ends with its codes and says the
same; checked where its reference results are at hand."""
import csv
import os
import pathlib
import re
import subprocess
import sys

import pytest

DATA = (pathlib.Path(__file__).resolve().parents[3] / "shared/testdata/cann").resolve()
EXPECTED = DATA / "expected_new"
SYNTHETIC, FUSION, REAL = DATA / "synthetic", DATA / "synthetic/fusion", DATA / "real_graph_map"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the reference results of msaccucmp are not part of the repository")
STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) - ")


def msaccucmp(*arguments):
    return subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "OPDUMP_PYTHON": sys.executable})


def compare(*arguments):
    return msaccucmp("compare", *arguments)


def only(folder, pattern):
    [path] = folder.glob(pattern)
    return path


def log_of(text, output):
    """What was said, without times, places and the original's surroundings."""
    lines = [STAMP.sub("", line).rstrip("\n") for line in text.splitlines()]
    lines = [line.replace(str(output), "@OUT@").replace(str(DATA), "@DATA@") for line in lines]
    lines = [re.sub(r"@DATA@/golden_runs/new/\w+", "@OUT@", line) for line in lines]
    lines = [re.sub(r"_\d{14}\.csv", "_TIME.csv", line) for line in lines]
    unimportant = ("run as root", "dir_path:", "[INFO] The command was completed", "%]")
    return [line for line in lines if line and not any(word in line for word in unimportant)]


NPU_PAIR = ["-m", SYNTHETIC / "my", "-g", SYNTHETIC / "npu2"]
GOLDEN = ["-m", SYNTHETIC / "my", "-g", SYNTHETIC / "golden", "-f", SYNTHETIC / "fusion.json"]
FUSED = ["-m", FUSION / "my", "-g", FUSION / "gold", "-f", FUSION / "fusion.json"]


@pytest.mark.parametrize("name, arguments, status", [
    ("npu_vs_npu", NPU_PAIR, 0), ("npu_vs_npy", GOLDEN, 2), ("fusion", FUSED, 2),
    ("fusion_select", [*FUSED, "-s", "1,4"], 0)])
def test_tables(name, arguments, status, tmp_path):
    done = compare(*arguments, "-out", tmp_path)
    assert done.returncode == status, done.stderr
    table = only(tmp_path, "result_*.csv")
    assert table.read_bytes() == only(EXPECTED / name, "result_*.csv").read_bytes()
    assert table.stat().st_mode & 0o777 == 0o600
    expected = (EXPECTED / name / "stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path) == log_of(expected, tmp_path)


@pytest.mark.parametrize("name, arguments", [
    ("op_conv1", [*GOLDEN, "-op", "conv1", "-o", "0", "-n", "3"]), ("fusion_op", [*FUSED, "-op", "split"]),
    ("fusion_op2", [*FUSED, "-op", "split", "-i", "0"])])
def test_one_operator(name, arguments, tmp_path):
    (tmp_path / f"{arguments[7]}_output_0_99.csv").write_text("of an earlier run")
    done = compare(*arguments, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    expected = {path.name: path.read_bytes() for path in (EXPECTED / name).iterdir() if path.name != "stdout.txt"}
    actual = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("_99.csv")}
    assert actual == expected
    # Tables go to stdout, all else to stderr.
    printed = (EXPECTED / name / "stdout.txt").read_text().splitlines()
    assert done.stdout.split("\n") == [line for line in printed if not STAMP.match(line)] + [""]
    assert log_of(done.stderr, tmp_path) == [line for line in log_of("\n".join(printed), tmp_path) if line[0] == "["]


@pytest.mark.parametrize("model", ["Model", "ResNet50Build"])
def test_real_graphs(model, tmp_path):
    sides = ["-m", REAL / f"g{model}/my", "-g", REAL / f"g{model}/gold", "-f", REAL / f"g{model}.json"]
    done = compare(*sides, "-out", tmp_path)
    assert done.returncode == 2
    assert only(tmp_path, "result_*.csv").read_bytes() == only(REAL / f"out_new_{model}", "result_*.csv").read_bytes()
    mapped = compare(*sides, "-map", "-out", tmp_path)
    assert mapped.returncode == 0
    for name, said in (("cmp", done.stderr), ("map", mapped.stderr)):
        expected = (REAL / f"out_new_{model}/{name}_stdout.txt").read_text()
        printed, wanted = ([re.sub(r"@.*((result|mapping)_TIME)", r"\1", line) for line in log_of(text, tmp_path)]
                        for text in (said, expected))
        assert printed == wanted
    mapping = only(tmp_path, "mapping_*.csv").read_bytes().replace(str(DATA).encode(), b"@DATA@")
    assert mapping == only(REAL / f"out_new_{model}", "mapping_*.csv").read_bytes()


def pairs():
    return sorted(path for path in (DATA / "metric_pairs").iterdir() if path.is_dir()) if DATA.exists() else []


@pytest.mark.parametrize("folder", pairs(), ids=lambda folder: folder.name)
def test_two_files(folder, tmp_path):
    done = compare("-m", folder / "a.npy", "-g", folder / "b.npy")
    *printed, status = (folder / "stdout_new.txt").read_text().splitlines()
    assert f"rc={done.returncode}" == status
    assert log_of(done.stderr, tmp_path) == log_of("\n".join(printed), tmp_path)


def wrong_uses():
    if not DATA.exists():
        return []
    text = (EXPECTED / "cli_errors.txt").read_text()
    cases = [part.splitlines() for part in re.split(r"^--- ", text, flags=re.M) if part]
    return [(lines[0], lines[1:-1], int(lines[-1][3:])) for lines in cases if lines[0].startswith("compare")]


@pytest.mark.parametrize("words, said, status", wrong_uses(), ids=lambda value: None if isinstance(value, int) else str(value)[:60])
def test_wrong_use(words, said, status, tmp_path):
    done = msaccucmp(*words.replace("@DATA@", str(DATA)).replace("@OUT@", str(tmp_path)).split())
    assert done.returncode == status
    lines = [STAMP.sub("", line).replace(str(DATA), "@DATA@") for line in done.stderr.splitlines()[-2:]]
    for line, expected in zip(lines, said):
        assert line.startswith(expected) or "took" in expected, (line, expected)


def test_help():
    done = compare("-h")
    expected = (EXPECTED / "help_compare.txt").read_text() if DATA.exists() else ""
    assert done.returncode == 0
    assert done.stdout == expected.split("\n", 1)[1]


def test_chosen_algorithms(tmp_path):
    """Columns come as they are asked for; numbers may be words of their own."""
    whole = list(csv.reader(open(only(EXPECTED / "fusion", "result_*.csv"), newline="")))
    for selection in (["-alg", "5,CosineSimilarity"], ["-alg", "5", "0"]):
        for old in tmp_path.iterdir():
            old.unlink()
        assert compare(*FUSED, *selection, "-out", tmp_path).returncode == 2
        rows = list(csv.reader(open(only(tmp_path, "result_*.csv"), newline="")))
        assert rows[0][9:] == ["StandardDeviation", "CosineSimilarity", "CompareFailReason"]
        at = [whole[0].index(name) for name in rows[0][9:]]
        assert [row[9:] for row in rows] == [[row[i] for i in at] for row in whole]


def test_range_and_maximum(tmp_path):
    assert compare(*FUSED, "-r", "1,-1,2", "-max", "1", "-out", tmp_path).returncode == 2
    rows = list(csv.DictReader(open(only(tmp_path, "result_*.csv"), newline="")))
    assert {row["OpSequence"] for row in rows} == {"1", "3", "5"}
    # One element of a tensor that is no scalar: its cosine is that of two numbers, here also of two zeros.
    assert {row["CosineSimilarity"] for row in rows} == {"1.000000", "1.0", "NaN"}
    assert {row["CompareFailReason"][:12] for row in rows} == {"", "[NetOutput] "}


def test_advisor(tmp_path):
    done = compare(*FUSED, "-advisor", "-out", tmp_path)
    assert done.returncode == 2
    rows = list(csv.DictReader(open(only(tmp_path, "result_*.csv"), newline="")))
    assert [row["OverFlow"] for row in rows] == ["NO"] * 11 + ["NaN"]
    lines = (tmp_path / "advisor_summary.txt").read_text().splitlines()
    assert lines[:2] == ["Detection Type: Global Consistency", "Operator Index: NA"]
    assert lines[2].startswith("Expert Advice: All data in the comparison result meets the accuracy")
    assert "The Global Consistency detection matches successfully." in done.stderr


def test_batch(tmp_path):
    """-f is a directory: the last step of each network whose rules are there."""
    dump, rules = tmp_path / "20231121113152", tmp_path / "rules"
    rules.mkdir()
    (rules / "g.json").write_text((FUSION / "fusion.json").read_text())
    for step in ("9", "10"):
        place = dump / f"0/ge_default/7/{step}"
        place.mkdir(parents=True)
        if step == "10":
            for file in (FUSION / "my").iterdir():
                (place / file.name).write_bytes(file.read_bytes())
    done = compare("-m", dump, "-g", FUSION / "gold", "-f", rules, "-out", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    table = only(tmp_path / "out", "0_ge_default_10_result_*.csv")
    assert table.read_bytes() == only(EXPECTED / "fusion", "result_*.csv").read_bytes()
    named = tmp_path / "named"  # the file is called after the model, the graph in it is not
    named.mkdir()
    (named / "ge_default.json").write_text((FUSION / "fusion.json").read_text().replace('"ge_default"', '"g"'))
    assert compare("-m", dump, "-g", FUSION / "gold", "-f", named, "-out", tmp_path / "out2").returncode == 2
    assert only(tmp_path / "out2", "0_ge_default_10_result_*.csv").read_bytes() == table.read_bytes()
    assert compare("-m", dump, "-g", FUSION / "gold", "-f", rules, "-op", "x", "-out", tmp_path).returncode == 6
    assert compare("-m", FUSION / "my", "-g", FUSION / "gold", "-f", rules, "-out", tmp_path).returncode == 3


def test_custom_algorithm(tmp_path):
    folder = tmp_path / "custom/algorithm"
    folder.mkdir(parents=True)
    (folder / "alg_Largest.py").write_text(
        "def compare(mine, golden, args):\n"
        "    if args.shape_type.name == 'Scalar':\n        raise ValueError('scalar')\n"
        "    return '%.6f' % (abs(mine - golden).max() * float(args.get()['scale'])), ''\n")
    (folder / "alg_Bad.py").write_text("def compare(mine):\n    return ''\n")
    done = compare(*FUSED, "-c", tmp_path / "custom", "-alg", "Largest,1,Bad", "-a", "Largest:scale=2", "-out", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "The argument count (1) of 'compare'" in done.stderr
    rows = list(csv.DictReader(open(only(tmp_path, "result_*.csv"), newline="")))
    assert "Bad" not in rows[0]
    for row in rows[:-1]:
        assert abs(float(row["Largest"]) - 2 * float(row["MaxAbsoluteError"])) < 2e-6
    os.chmod(folder / "alg_Bad.py", 0o666)
    assert compare(*FUSED, "-c", tmp_path / "custom", "-out", tmp_path).returncode == 3


def test_a_custom_algorithm_stays(tmp_path):
    """Python is started once for each thread, not for each tensor; one that ends costs the values of one tensor."""
    folder = tmp_path / "custom/algorithm"
    folder.mkdir(parents=True)
    (folder / "alg_Pid.py").write_text(
        "import os, sys\n"
        "def compare(mine, golden, args):\n    print('noise', flush=True)\n    return str(os.getpid()), ''\n")
    (folder / "alg_Exit.py").write_text(
        "import sys\nCALLS = []\n"
        "def compare(mine, golden, args):\n    CALLS.append(1)\n"
        "    if len(CALLS) == 2:\n        sys.exit(0)\n    return str(len(CALLS)), ''\n")
    done = compare(*FUSED, "-c", tmp_path / "custom", "-alg", "Pid,Exit", "-out", tmp_path)
    assert done.returncode == 2, done.stderr
    rows = list(csv.DictReader(open(only(tmp_path, "result_*.csv"), newline="")))[:-1]
    pids = {row["Pid"] for row in rows} - {"NaN"}
    assert 1 <= len(pids) <= os.cpu_count() and len(rows) > len(pids)
    assert {row["Exit"] for row in rows} <= {"1", "NaN"}


def test_damaged_dumps(tmp_path):
    """One file that cannot be read costs its rows, not the run."""
    mine = tmp_path / "my"
    mine.mkdir()
    for file in (FUSION / "my").iterdir():
        (mine / file.name).write_bytes(file.read_bytes())
    (mine / "Split.split.4.1.1700000000006004").write_bytes(b"\x05\0\0\0\0\0\0\0garbage")
    done = compare("-m", mine, *FUSED[2:], "-out", tmp_path)
    assert done.returncode == 11
    rows = list(csv.DictReader(open(only(tmp_path, "result_*.csv"), newline="")))
    assert [row["CosineSimilarity"] for row in rows if row["OpType"] == "Split"] == ["NaN"]
    (mine / "Split.split.4.1.1700000000006004").unlink()
    (mine / "x.0.1700000000006004.npy").write_bytes(b"")
    assert compare("-m", mine, *FUSED[2:], "-out", tmp_path).returncode == 18


def test_custom_layout(tmp_path):
    """A script of the user's replaces a built-in change of layout."""
    folder = tmp_path / "custom/format_convert"
    folder.mkdir(parents=True)
    (folder / "convert_NC1HWC0_to_NCHW.py").write_text(
        "def convert(shape_from, shape_to, array):\n"
        "    n, c1, h, w, c0 = shape_from\n"
        "    return array.reshape(shape_from).transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w) * 2\n")
    done = compare(*GOLDEN, "-c", tmp_path / "custom", "-alg", "RelativeEuclideanDistance", "-out", tmp_path)
    rows = list(csv.DictReader(open(only(tmp_path, "result_*.csv"), newline="")))
    [conv] = [row for row in rows if row["TensorIndex"] == "conv1:output:0"]
    assert conv["RelativeEuclideanDistance"] == "1.000000", done.stderr
    (folder / "convert_NC1HWC0_to_NCHW.py").write_text("def convert(a, b, c):\n    raise ValueError('no')\n")
    (tmp_path / "again").mkdir()
    done = compare(*GOLDEN, "-c", tmp_path / "custom", "-out", tmp_path / "again")
    assert "Failed to execute 'convert' in 'convert_NC1HWC0_to_NCHW'. no" in done.stderr
