"""Files that users name and files that are no files: pipes, devices, links, full disks."""
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent


def opdump(*words, **more):
    return subprocess.run([os.environ["OPDUMP_BIN"], *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, **more)


def make_dump(folder, *words):
    subprocess.run([sys.executable, "-B", HERE / "make_dump.py", folder, *words], check=True)
    return folder


@pytest.fixture
def dumps(tmp_path):
    return make_dump(tmp_path / "golden"), make_dump(tmp_path / "actual", "fault")


def table_of(dumps, tmp_path):
    assert opdump("compare", *dumps, "--csv", tmp_path / "plain.csv").returncode == 1
    return (tmp_path / "plain.csv").read_text()


def test_a_pipe_is_written_to(dumps, tmp_path):
    pipe, said = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    done = opdump("compare", *dumps, "--csv", pipe)
    reader.join(60)
    assert done.returncode == 1 and pipe.is_fifo() and said == [table_of(dumps, tmp_path)]


@pytest.mark.parametrize("minor, status, said", [(3, 1, ""), (7, 3, "No space left on device")], ids=["null", "full"])
def test_a_device_stays_one(minor, status, said, dumps, tmp_path):
    """Devices of our own: whoever breaks this loses no other."""
    device = tmp_path / "device"
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, minor))
        device.open("w").close()
    except OSError:
        pytest.skip("no devices may be made here")
    done = opdump("compare", *dumps, "--csv", device)
    assert done.returncode == status and said in done.stderr and device.is_char_device()


def test_a_link_stays_one(dumps, tmp_path):
    (tmp_path / "old.csv").write_text("old")
    for name, target in (("link", "old.csv"), ("other", "new.csv")):
        (tmp_path / name).symlink_to(target)
        assert opdump("compare", *dumps, "--csv", tmp_path / name).returncode == 1
        assert (tmp_path / name).is_symlink() and (tmp_path / target).read_text() == table_of(dumps, tmp_path)


def test_the_own_output_is_written_where_it_is(dumps, tmp_path):
    """A file that took its place would not be the one that the shell has opened."""
    with (tmp_path / "said").open("w") as said:
        subprocess.run([os.environ["OPDUMP_BIN"], "compare", *dumps, "--csv", "/proc/self/fd/1"], stdout=said, check=False)
    text = (tmp_path / "said").read_text()
    assert table_of(dumps, tmp_path) in text and "first bad operator" in text


@pytest.mark.parametrize("name", ["rank_0/operators.jsonl", "rank_0/opdump_status.json", "statistic.csv", "mapping.csv", ".npy", ".ir"])
def test_a_pipe_in_a_dump_hangs_nobody(name, tmp_path):
    dump, whole = make_dump(tmp_path / "dump", "graphs"), make_dump(tmp_path / "whole")
    step = next(dump.rglob("*.npy")).parent
    path = dump / name if "/" in name else next(dump.rglob("*" + name)) if name.startswith(".") else step / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for words in (["ls", dump], ["show", dump, "--op", "conv"], ["compare", whole, dump], ["convert", dump, "-o", tmp_path / "out"], ["ir", dump], ["ls", path], ["ir", path],
                  ["msaccucmp", "convert", "-d", step, "-out", tmp_path / "out"]):
        assert opdump(*words).returncode >= 0


def test_a_pipe_is_no_configuration(tmp_path):
    pipe = tmp_path / "data_dump.json"
    os.mkfifo(pipe)
    for words in (["plan", pipe], ["run", "--config", pipe, "--", "true"], ["graph", "convert", pipe]):
        done = opdump(*words)
        assert done.returncode in (2, 3) and "this is a pipe; expected a regular file" in done.stderr, (words, done)


def leave_little_room():
    """As a full disk, but for the number of the error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


@pytest.mark.parametrize("to", ["txt", "npy", "bin", "pt", "npz", "safetensors"])
def test_what_is_not_whole_has_no_name(to, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(1 << 16, dtype=np.float32))
    done = opdump("convert", tmp_path / "a.npy", "-o", tmp_path / "out", "--to", to, preexec_fn=leave_little_room)
    assert done.returncode == 3 and "File too large" in done.stderr, done
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_files_that_are_there_stay_if_the_disk_is_full(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(1 << 16, dtype=np.float32))
    words = ("convert", tmp_path / "a.npy", "-o", tmp_path / "out", "--to", "txt")
    assert opdump(*words).returncode == 0
    (made,) = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    before = made.read_bytes()
    assert opdump(*words, preexec_fn=leave_little_room).returncode == 3 and made.read_bytes() == before


def test_an_interrupted_recording_is_no_whole_answer(tmp_path):
    dump = make_dump(tmp_path / "killed", "killed")
    for words in ([], ["--json"]):
        assert opdump("ls", dump, *words).returncode == 3
    assert opdump("ls", make_dump(tmp_path / "whole")).returncode == 0


def test_seeds_of_results_have_the_tables_of_today():
    """fuzz/make_result_seeds.py writes them anew."""
    seeds = list((HERE.parents[1] / "fuzz/seeds/result_file").iterdir())
    assert len(seeds) == 2
    for seed in seeds:
        done = opdump("query", seed, "SELECT * FROM runs")
        assert done.returncode == 0 or "without SQLite" in done.stderr, done.stderr
