"""What becomes of a small file is small, too, unless the user wants it otherwise."""
import os
import pathlib
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pytest


def opdump(*words, **environment):
    return subprocess.run([os.environ["OPDUMP_BIN"], *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def bomb(tmp_path):
    """60 kB that become 60 MB, and 1.5 GB of text."""
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(60_000_000, dtype=np.int8))
    assert (tmp_path / "a.npz").stat().st_size < 70_000
    return tmp_path / "a.npz"


def test_text_is_limited(bomb, tmp_path):
    done = opdump("convert", bomb, "-o", tmp_path / "out", "--to", "txt")
    assert done.returncode == 3 and "1.4 GiB of text, and 1.0 GiB are allowed; --max-expand" in done.stderr, done
    assert files_in(tmp_path / "out") == []


def test_elements_are_limited(bomb, tmp_path):
    verbs = {"ls": [bomb], "show": [bomb], "compare": [bomb, bomb], "convert": [bomb, "-o", tmp_path / "out"]}
    for verb, words in verbs.items():
        for more, environment in (["--max-expand", "50M"], {}), ([], {"OPDUMP_MAX_EXPAND": "50M"}):
            done = opdump(verb, *words, *more, **environment)
            assert "57.2 MiB of arrays, and 50.0 MiB are allowed" in done.stdout + done.stderr, (verb, done)
    assert opdump("compare", bomb, bomb, "--max-expand", "50M").returncode == 3
    assert opdump("convert", bomb, "-o", tmp_path / "out", "--max-expand", "60M", OPDUMP_MAX_EXPAND="1").returncode == 0
    assert opdump("ls", bomb, "--max-expand", "many").returncode == 2


def test_members_that_share_their_bytes_add_up(tmp_path):
    """A thousand entries of the directory for the same deflated bytes."""
    path = tmp_path / "shared.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("a0000.npy", "w") as file:
            np.lib.format.write_array(file, np.zeros(5_000_000, dtype=np.int8))
        (first,) = archive.infolist()
        for i in range(1, 1000):
            again = zipfile.ZipInfo(f"a{i:04}.npy", first.date_time)
            again.compress_type = first.compress_type
            again.header_offset, again.CRC, again.compress_size, again.file_size = (
                first.header_offset, first.CRC, first.compress_size, first.file_size)
            archive.filelist.append(again)
        archive._didModify = True
    done = opdump("ls", path)
    assert "4.7 GiB" in done.stdout + done.stderr or "of arrays, and 1.0 GiB are allowed" in done.stdout + done.stderr, done


def test_files_with_much_behind_what_counts(tmp_path):
    """Sparse files: a few bytes on the disk. Neither memory nor address space nor time is spent on the rest."""
    dump = tmp_path / "dump"
    subprocess.run([sys.executable, "-B", pathlib.Path(__file__).parent / "make_dump.py", dump, "graphs"], check=True)
    tensor = next(dump.rglob("*.output.0.*.npy"))
    for path in (tensor, dump / "rank_0/opdump_status.json", next(dump.rglob("ms_global_*.csv"))):
        path.chmod(0o600)
        os.truncate(path, 6 << 30)

    def set_limits():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))

    for words in (["ls", dump], ["show", dump], ["ir", dump], ["compare", dump, dump], ["convert", dump, "-o", tmp_path / "out"]):
        done = subprocess.run([os.environ["OPDUMP_BIN"], *map(str, words)], capture_output=True, text=True, preexec_fn=set_limits)
        assert done.returncode in (0, 3) and "allocate" not in done.stdout + done.stderr, done


def test_datasets_are_limited(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("net/0/output/a", data=np.zeros(20_000_000, dtype=np.int8), chunks=(1_000_000,), compression="gzip")
    assert opdump("show", tmp_path / "a.h5").returncode == 0
    done = opdump("show", tmp_path / "a.h5", "--max-expand", "10M")
    assert "19.1 MiB of elements, and 10.0 MiB are allowed" in done.stdout + done.stderr, done
