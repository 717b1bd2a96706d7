"""Files that are something else than what a verb expects are called what they are."""
import gzip
import os
import pickle
import subprocess

import pytest

FILES = {"an offline model of CANN (.om)": b"IMOD" + bytes(200), "a gzip archive": gzip.compress(b"something" * 20),
         "a table as text (CSV)": b"Op Type,Op Name\nAdd,a\n", "a pickle of Python": pickle.dumps({"weight": list(range(99))}),
         "an ONNX model (.onnx)": b"\x08\x08\x12\x07pytorch:" + bytes(60), "nothing but zeros": bytes(64),
         "a program or library (ELF)": b"\x7fELF\x02\x01\x01" + bytes(60)}


def opdump(*words):
    return subprocess.run([os.environ["OPDUMP_BIN"], *map(str, words)], capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize("what", FILES)
def test_in_place_of_a_dump(tmp_path, what):
    path = tmp_path / "wrong"
    path.write_bytes(FILES[what])
    verbs = [("ls", path), ("compare", path, path)]
    if what != "nothing but zeros":  # a dump without tensors, for the original
        verbs.append(("msaccucmp", "convert", "-d", path, "-out", tmp_path / "out"))
    for words in verbs:
        done = opdump(*words)
        assert done.returncode != 0 and what in done.stdout + done.stderr, done.stdout + done.stderr
        assert "header content size" not in done.stderr or words[0] == "msaccucmp"


@pytest.mark.parametrize("what", FILES)
def test_in_place_of_a_configuration(tmp_path, what):
    path = tmp_path / "data_dump.json"
    path.write_bytes(FILES[what])
    done = opdump("plan", path)
    assert done.returncode == 2 and f"data_dump.json:1:1: not JSON: the file is {what}" in done.stderr


def test_bytes_that_are_nothing_known(tmp_path):
    path = tmp_path / "random"
    path.write_bytes(bytes(range(200, 256)) * 9)
    done = opdump("ls", path)
    assert done.returncode == 3 and "its first bytes are those of no file that opdump reads" in done.stderr


@pytest.mark.parametrize("words", [("plan",), ("ls",), ("show",), ("ir",), ("run", "--config"), ("msaccucmp", "convert", "-out", ".", "-d")])
def test_a_pipe_that_nobody_writes_to(tmp_path, words):
    os.mkfifo(tmp_path / "pipe")
    done = opdump(*words, tmp_path / "pipe", *(("--", "true") if words[0] == "run" else ()))
    assert done.returncode not in (0, None)
