"""`mpirun opdump compare`, `convert` and `msaccucmp convert`: they print and write what one process does, or they say what
is missing. OPDUMP_BIN is opdump."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
HERE = pathlib.Path(__file__).resolve().parent
pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")


def mpirun(*groups):
    """Each group is (processes, command...)."""
    command = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
    for i, (count, *words) in enumerate(groups):
        command += [":"] * (i > 0) + ["-np", str(count), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    root = tmp_path_factory.mktemp("mpi")
    for side in ("golden", "actual"):
        for i in range(20):
            folder = root / side / f"layer{i}"
            folder.mkdir(parents=True)
            values = np.random.default_rng(i).standard_normal(100 + 1000 * i).astype("f4")
            if side == "actual" and i == 13:
                values[3] += 1
            np.save(folder / "w.npy", values)
            (folder / "torn.npy").write_bytes(b"\x93NUMPY" if i == 5 else (folder / "w.npy").read_bytes())
    return root


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("options", [[], ["--all"], ["--json", "--all"]])
@pytest.mark.parametrize("actual", ["golden", "actual"])
def test_the_report_is_that_of_one_process(dumps, tmp_path, count, options, actual):
    arguments = ["compare", dumps / "golden", dumps / actual, *options, "--csv"]
    alone = subprocess.run([OPDUMP, *arguments, tmp_path / "1.csv"], capture_output=True, text=True)
    together = mpirun((count, OPDUMP, *arguments, tmp_path / "n.csv"))
    assert together.stdout == alone.stdout and alone.stdout
    assert together.returncode == alone.returncode == (3 if actual == "golden" else 1)
    assert (tmp_path / "n.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


@pytest.fixture
def whole(dumps, tmp_path):
    shutil.copytree(dumps / "golden", tmp_path / "whole", ignore=shutil.ignore_patterns("torn.npy"))
    return tmp_path / "whole"


def test_no_difference(whole):
    assert mpirun((3, OPDUMP, "compare", whole, whole)).returncode == 0


def test_a_file_missing_on_one_host(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "other")
    (tmp_path / "other" / "layer7" / "w.npy").unlink()
    done = mpirun((2, OPDUMP, "compare", whole, whole), (1, OPDUMP, "compare", whole, tmp_path / "other"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "process 2 on " in done.stdout and "sees other files than process 0" in done.stdout
    assert "compared 20 of 20 tensors" in done.stdout


def test_a_dump_missing_on_one_host(whole):
    done = mpirun((2, OPDUMP, "compare", whole, whole), (1, OPDUMP, "compare", whole, "nowhere"))
    assert done.returncode == 3
    assert "nowhere: No such file" in done.stdout and "compared 20 of 20 tensors" in done.stdout


def test_a_dump_missing_where_the_report_is_made(whole):
    done = mpirun((1, OPDUMP, "compare", whole, "nowhere"), (2, OPDUMP, "compare", whole, whole))
    assert done.returncode == 3 and "opdump: nowhere: No such file" in done.stderr and done.stdout == ""


def test_a_process_that_dies(whole):
    kill = [sys.executable, HERE / "kill_worker.py", OPDUMP]
    done = mpirun((2, OPDUMP, "compare", whole, whole), (1, *kill, "compare", whole, whole))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "process 2: it died" in done.stdout and "the result is incomplete" in done.stdout
    assert "compared 20 of 20 tensors" in done.stdout
    done = mpirun((1, *kill, "compare", whole, whole), (2, OPDUMP, "compare", whole, whole))
    assert done.returncode == 3 and done.stdout == ""


def test_a_process_that_dies_with_its_supervisor(whole):
    done = mpirun((2, OPDUMP, "compare", whole, whole), (1, "bash", "-c", "kill -9 $$"))
    assert done.returncode not in (0, 1) and done.stdout == ""


def table(root, count, of_one=False):
    """A dump of so many operators, or tensors of one, of which there are statistics only."""
    folder = root / "rank_0/net/0/0"
    folder.mkdir(parents=True)
    places = [(0, 0, i) if of_one else (i, i, 0) for i in range(count)]
    rows = [f"Add,Default/add-op{op},0,0,{1700000000000000 + time},output,{index},8,float32,\"(2,)\",{(op + index) % 777}.5\n"
            for op, time, index in places]
    header = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"
    (folder / "statistic.csv").write_text(header + "".join(rows))
    return root


@pytest.mark.parametrize("count, of_one", [(9000, False), (40000, True)])
def test_more_than_is_shared_at_a_time(tmp_path, count, of_one):
    many, few = table(tmp_path / "many", count, of_one), table(tmp_path / "few", 10)
    command = ["compare", many, many, "--csv"]
    alone = subprocess.run([OPDUMP, *command, tmp_path / "1.csv"], capture_output=True, text=True)
    together = mpirun((3, OPDUMP, *command, tmp_path / "n.csv"))
    assert together.stdout == alone.stdout and together.returncode == alone.returncode == 0, together.stderr
    assert f"{count} of {count} tensors" in alone.stdout
    assert (tmp_path / "n.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    for other in [few, "nowhere"]:  # fewer rounds, and none
        done = mpirun((2, OPDUMP, *command, tmp_path / "n.csv"), (1, OPDUMP, "compare", many, other))
        assert done.returncode == 3 and f"{count} of {count} tensors" in done.stdout, done.stdout + done.stderr
        done = mpirun((1, OPDUMP, "compare", few, few), (1, OPDUMP, "compare", many, many))
        assert done.returncode == 3 and "10 of 10 tensors" in done.stdout, done.stdout + done.stderr


# ---- convert


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def convert(source, out, *options):
    return ["convert", source, "-o", out, *options]


@pytest.mark.parametrize("count,to,is_whole", [(2, "npy", True), (3, "txt", False), (3, "npz", False)])
def test_convert_writes_what_one_process_does(dumps, whole, tmp_path, count, to, is_whole):
    source = whole if is_whole else dumps / "golden"
    alone = subprocess.run([OPDUMP, *convert(source, "out", "--to", to)], capture_output=True, text=True, cwd=tmp_path)
    (tmp_path / "out").rename(tmp_path / "alone")
    together = mpirun((count, "env", "-C", tmp_path, OPDUMP, *convert(source, "out", "--to", to)))
    assert together.returncode == alone.returncode == (0 if is_whole else 3)
    assert together.stdout == alone.stdout and alone.stdout.startswith("converted ")
    assert is_whole or alone.stderr and alone.stderr in together.stderr
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")


def test_convert_with_a_file_missing_on_one_host(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "other")
    (tmp_path / "other" / "layer7" / "w.npy").unlink()
    for missing in (tmp_path / "other", "nowhere"):
        out = tmp_path / f"out{missing == 'nowhere'}"
        done = mpirun((2, OPDUMP, *convert(whole, out)), (1, OPDUMP, *convert(missing, out)))
        assert done.returncode == 3 and "process 2 on " in done.stderr, done.stderr
        assert done.stdout == f"converted 20 tensors into {out}\n" and len(files_of(out)) == 20
    done = mpirun((1, OPDUMP, *convert("nowhere", tmp_path / "none")), (2, OPDUMP, *convert(whole, tmp_path / "none")))
    assert done.returncode == 3 and "opdump: nowhere: No such file" in done.stderr and done.stdout == ""


def test_convert_with_a_process_that_dies(whole, tmp_path):
    kill = [sys.executable, HERE / "kill_worker.py", OPDUMP]
    done = mpirun((2, OPDUMP, *convert(whole, tmp_path / "out")), (1, *kill, *convert(whole, tmp_path / "out")))
    assert done.returncode == 3 and "process 2: it died" in done.stderr
    assert done.stdout == f"converted 20 tensors into {tmp_path}/out\n" and len(files_of(tmp_path / "out")) == 20


@pytest.mark.parametrize("to", ["txt", "npz"])
def test_convert_with_a_process_that_dies_at_work(tmp_path, to):
    for i in range(9):
        folder = tmp_path / f"dump/rank_0/graph_0/step_{i}"
        folder.mkdir(parents=True)
        np.save(folder / "add.output.0.npy", np.random.default_rng(i).standard_normal(1 << (18 if to == "txt" else 23)).astype("f4"))
    command = convert(tmp_path / "dump", tmp_path / "out", "--to", to)
    kill = [sys.executable, HERE / "kill_worker.py", "--when", tmp_path / "out", OPDUMP]
    done = mpirun((2, OPDUMP, *command), (1, *kill, *command))
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stderr.count("process 2") == 1 and "process 2: it died, and process 0 did its part" in done.stderr
    assert done.stdout == f"converted 9 tensors into {tmp_path}/out\n"
    subprocess.run([OPDUMP, *convert(tmp_path / "dump", tmp_path / "alone", "--to", to)], check=True)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")


# ---- msaccucmp convert, and verbs that know nothing of other processes


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(fields):
    out = b""
    for number, value in fields:
        out += varint(number << 3) + varint(value) if isinstance(value, int) else (
            varint(number << 3 | 2) + varint(len(value)) + value)
    return out


@pytest.fixture(scope="module")
def cann(tmp_path_factory):
    """Fifteen dump files, one of them damaged."""
    folder = tmp_path_factory.mktemp("cann")
    for i in range(15):
        array = np.arange(4 + 1000 * i, dtype="f4")
        shape = message([(1, array.size)])
        header = message([(1, b"2.0"), (2, 1), (3, message([(1, 1), (2, 2), (3, shape), (6, array.nbytes)]))])
        data = len(header).to_bytes(8, "little") + header + array.tobytes()
        (folder / f"Relu.relu{i}.1.2.170000000000{i:04}").write_bytes(data[:-5] if i == 7 else data)
    return folder


def converted(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kill", [False, True])
def test_msaccucmp_convert(cann, tmp_path, kill):
    arguments = ["msaccucmp", "convert", "-d", cann, "-out"]
    alone = subprocess.run([OPDUMP, *arguments, tmp_path / "alone"], capture_output=True, text=True)
    assert alone.returncode != 0  # of the damaged one
    program = [sys.executable, HERE / "kill_worker.py", OPDUMP] if kill else [OPDUMP]
    together = mpirun((2, OPDUMP, *arguments, tmp_path / "together"), (1, *program, *arguments, tmp_path / "together"))
    assert together.returncode == alone.returncode, together.stderr
    assert converted(tmp_path / "together") == converted(tmp_path / "alone")
    said = [line.split(" - ", 1)[1].replace("together", "alone") for line in together.stderr.splitlines() if " - [" in line]
    assert any("process 2: it died" in line for line in said) == kill
    said = [line for line in said if "process 2: it died" not in line]
    expected = [line.split(" - ", 1)[1] for line in alone.stderr.splitlines()]
    quiet = [line for line in said if "%]" not in line and "took" not in line]
    assert sorted(quiet) == sorted(line for line in expected if "%]" not in line and "took" not in line)


def test_msaccucmp_convert_with_a_file_missing_on_one_host(cann, tmp_path):
    for name in ("here", "there"):
        shutil.copytree(cann, tmp_path / name, ignore=shutil.ignore_patterns("*relu7*"))
    next((tmp_path / "there").glob("*relu3*")).unlink()
    command = lambda name: [OPDUMP, "msaccucmp", "convert", "-d", tmp_path / name, "-out", tmp_path / "out"]
    done = mpirun((2, *command("here")), (1, *command("there")))
    assert done.returncode == 3 and "sees other files than process 0" in done.stderr
    assert len(files_of(tmp_path / "out")) == 14
    assert mpirun((3, *command("here"))).returncode == 0


def test_other_verbs_are_done_once(whole):
    alone = subprocess.run([OPDUMP, "ls", whole], capture_output=True, text=True)
    assert mpirun((3, OPDUMP, "ls", whole)).stdout == alone.stdout
