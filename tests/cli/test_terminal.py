"""Names in dumps are anything; what `opdump` prints of them steers no terminal."""
import json
import os
import re
import subprocess

import numpy as np
import pytest

EVIL = "a\x1b[31mb\x1b]0;title\x07c\x9bd\nrank 9\x7f\u202egnp\u2028\u2066\u061c\u200f\x85größe"
SHOWN = r"b\x1b]0;title\x07c\u009bd\nrank 9\x7f\u202egnp\u2028\u2066\u061c\u200f\u0085größe"


def opdump(*words):
    done = subprocess.run([os.environ["OPDUMP_BIN"], *map(str, words)], capture_output=True, text=True, errors="surrogateescape")
    return done.stdout + done.stderr


@pytest.fixture
def dumps(tmp_path):
    for side, value in (("golden", 1.0), ("actual", 2.0)):
        np.savez(tmp_path / f"{side}.npz", **{EVIL: np.full(4, value)})
    return tmp_path


def is_tame(text):
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]", text)


@pytest.mark.parametrize("verb", ["ls", "show", "compare"])
def test_names_in_json(dumps, verb):
    words = [dumps / "golden.npz"] + ([dumps / "actual.npz"] if verb == "compare" else [])
    said = opdump(verb, *words, "--json")
    assert is_tame(said), ascii(said)
    assert any(EVIL in str(json.loads(line).get("operator", "")) for line in said.splitlines()), ascii(said)


def test_bytes_that_are_no_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/x\x9b2Jy.npy"
    np.save(os.fsdecode(path), np.ones(2))
    for words in (["ls", os.fsdecode(path)], ["show", os.fsdecode(path)], ["ls", os.fsdecode(path) + "no"]):
        said = opdump(*words)
        assert said and is_tame(said) and r"x\x9b2Jy" in said, ascii(said)


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
