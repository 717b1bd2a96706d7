"""Names in dumps are anything; what `opdump` prints of them steers no terminal."""
import os
import re
import subprocess

import numpy as np
import pytest

EVIL = "a\x1b[31mb\x1b]0;title\x07c\x9bd\nrank 9\x7f"
SHOWN = r"b\x1b]0;title\x07c\u009bd\nrank 9\x7f"


def opdump(*words):
    done = subprocess.run([os.environ["OPDUMP_BIN"], *map(str, words)], capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.fixture
def dumps(tmp_path):
    for side, value in (("golden", 1.0), ("actual", 2.0)):
        np.savez(tmp_path / f"{side}.npz", **{EVIL: np.full(4, value)})
    return tmp_path


def is_tame(text):
    return not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize("verb", ["ls", "show", "compare", "convert"])
def test_names_in_a_file(dumps, verb):
    words = {"ls": [dumps / "golden.npz"], "show": [dumps / "golden.npz", "--op", EVIL],
             "compare": [dumps / "golden.npz", dumps / "actual.npz"],
             "convert": [dumps / "golden.npz", dumps / "out", "--to", "npy"]}[verb]
    said = opdump(verb, *words)
    assert said and is_tame(said.replace("\x1b[31m", "")), ascii(said)  # a colour does no harm
    if verb in ("ls", "compare"):
        assert SHOWN in said, ascii(said)


def test_names_in_messages(tmp_path):
    (tmp_path / "x\x1b[2Jy.npz").write_bytes(b"PK\x03\x04 nothing")
    for said in (opdump("ls", tmp_path / "x\x1b[2Jy.npz"), opdump("show", tmp_path / "no\x1b[2J", "--op", "a")):
        assert said and is_tame(said) and r"\x1b[2J" in said, ascii(said)
