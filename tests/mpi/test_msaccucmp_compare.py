"""`mpirun opdump msaccucmp compare`: the tables are those of one process, or say why they are not whole."""
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from test_mpi import HERE, OPDUMP, mpirun, pytestmark  # noqa: F401

sys.path.insert(0, str(HERE.parent / "msaccucmp"))
from make_network import NCHW, operator, write_dump

COUNT = 12


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Operators in a row; one was not dumped, one is damaged, one is wrong, one is of another shape."""
    root = tmp_path_factory.mktemp("network")
    ops = []
    for side in ("my", "npu", "golden"):
        (root / side).mkdir()
    for i in range(COUNT):
        ops.append(operator(f"op{i}", "Relu", i + 1, [f"op{i - 1}:0"] if i else []))
        values = np.random.default_rng(i).standard_normal((1, 2, 3, 40 + 500 * i)).astype(np.float16)
        np.save(root / f"golden/op{i}.0.1700000000000001.npy", values.astype(np.float32)[..., i == 9:])
        for side in ("my", "npu"):
            if side == "my" and i == 4:
                continue
            mine = values + np.float16(side == "my" and i == 7)
            path = root / side / f"Relu.op{i}.1.2.{1700000000000000 + i}"
            write_dump(path, [], [(mine, mine.shape, NCHW)])
            if i == 2:
                path.write_bytes(path.read_bytes()[:-6])
    (root / "model.json").write_text(json.dumps({"name": "net", "graph": [{"name": "net", "op": ops}]}))
    return root


def table(folder):
    [path] = folder.glob("*.csv")
    return re.sub(r"\d{14}", "TIME", path.name), path.read_bytes()


def said(text):
    lines = [line.split(" - [", 1)[1] for line in text.splitlines() if " - [" in line]
    return [re.sub(r"\d{14}", "TIME", line) for line in lines if "took" not in line]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("words", ["-m my -g golden -f model.json", "-m my -g golden -f model.json -map",
                                   "-m my -g npu -overflow_detection", "-m my -g golden -f model.json -r 2,9,2"])
def test_the_table_is_that_of_one_process(network, tmp_path, count, words, monkeypatch):
    monkeypatch.chdir(network)
    command = [OPDUMP, "msaccucmp", "compare", *words.split(), "-out"]
    alone = subprocess.run([*command, tmp_path / "out"], capture_output=True, text=True)
    expected = table(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    together = mpirun((count, *command, tmp_path / "out"))
    assert table(tmp_path / "out") == expected
    assert together.returncode == alone.returncode and said(together.stderr) == said(alone.stderr)


def test_the_options_of_one_process(network, tmp_path, monkeypatch):
    monkeypatch.chdir(network)
    done = mpirun((2, OPDUMP, "msaccucmp", "compare", "-m", "my", "-g", "golden"))
    assert done.returncode == 6 and len(said(done.stderr)) == 1, done.stderr
    done = mpirun((2, OPDUMP, "msaccucmp", "compare", "-m", "my"))
    assert done.returncode == 2 and done.stderr.count("required: -g") == 1, done.stderr
    one = ["msaccucmp", "compare", "-m", "my", "-g", "golden", "-f", "model.json", "-op", "op7", "-out", tmp_path]
    done = mpirun((2, OPDUMP, *one))
    assert done.returncode == 0 and (tmp_path / "op7_output_0_summary.txt").exists()


def test_a_process_that_dies(network, tmp_path, monkeypatch):
    monkeypatch.chdir(network)
    words = ["msaccucmp", "compare", "-m", "my", "-g", "golden", "-f", "model.json", "-out"]
    subprocess.run([OPDUMP, *words, tmp_path / "alone"], capture_output=True)
    kill = [sys.executable, HERE / "kill_worker.py", OPDUMP]
    done = mpirun((2, OPDUMP, *words, tmp_path / "out"), (1, *kill, *words, tmp_path / "out"))
    assert done.returncode == 3 and "process 2: it died" in done.stderr, done.stderr
    assert table(tmp_path / "out") == table(tmp_path / "alone")  # it died before it had its part


def test_a_process_that_dies_at_work(network, tmp_path, monkeypatch):
    """An algorithm of the user's kills the second process, which had the largest operator but one."""
    monkeypatch.chdir(network)
    monkeypatch.setenv("OPDUMP_PYTHON", sys.executable)
    (tmp_path / "algorithm").mkdir()
    (tmp_path / "algorithm/alg_Kill.py").write_text(
        "import os, signal\n"
        "def compare(mine, golden, args):\n"
        "    if os.environ['OMPI_COMM_WORLD_RANK'] == '1':\n"
        "        os.kill(os.getppid(), signal.SIGKILL)\n"
        "    return '1', ''\n")
    done = mpirun((2, OPDUMP, "msaccucmp", "compare", "-m", "my", "-g", "golden", "-f", "model.json",
                   "-c", tmp_path, "-alg", "Kill", "-out", tmp_path / "out"))
    assert done.returncode == 3, done.stderr
    rows = table(tmp_path / "out")[1].decode().splitlines()
    assert [int(row.split(",")[0]) for row in rows[1:]] == list(range(COUNT))
    assert any("Process 1 gave no answer: it died." in row for row in rows)
    assert sum(row.split(",")[-2] == "1" for row in rows) >= 3


def test_a_file_missing_on_one_host(network, tmp_path, monkeypatch):
    monkeypatch.chdir(network)
    shutil.copytree(network / "golden", tmp_path / "golden")
    (tmp_path / "golden/op3.0.1700000000000001.npy").unlink()
    words = ["msaccucmp", "compare", "-m", "my", "-f", "model.json", "-out", tmp_path / "out", "-g"]
    done = mpirun((2, OPDUMP, *words, "golden"), (1, OPDUMP, *words, tmp_path / "golden"))
    assert done.returncode == 3 and "sees other files than process 0" in done.stderr, done.stderr
    assert b"op3" in table(tmp_path / "out")[1]
    done = mpirun((1, OPDUMP, *words, "golden"), (1, OPDUMP, *words, "nowhere"))
    assert done.returncode == 3 and "it could not start, exit code 3" in done.stderr, done.stderr
    done = mpirun((1, OPDUMP, *words, "nowhere"), (1, OPDUMP, *words, "golden"))
    assert done.returncode == 3, done.stderr


def test_h5(tmp_path):
    pytest.importorskip("h5py")
    from test_compare_h5 import CPU, NPU, write
    for name, device, offset in (("npu", NPU, 0), ("cpu", CPU, 0.5)):
        write(tmp_path / f"{name}.h5", device,
              {f"/add/{i}/output/result": np.arange(4 + 100 * i, dtype="f4") + offset for i in range(8)})
    words = ["msaccucmp", "compare", "-m", tmp_path / "npu.h5", "-g", tmp_path / "cpu.h5", "-out", tmp_path / "out"]
    alone = subprocess.run([OPDUMP, *words], capture_output=True, text=True)
    expected = table(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    together = mpirun((3, OPDUMP, *words))
    assert together.returncode == alone.returncode == 0, together.stderr
    assert table(tmp_path / "out") == expected and expected[1].count(b"\n") == 9
