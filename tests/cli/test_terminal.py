"""Names in dumps are anything; what `opdump` prints of them steers no terminal."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time

import numpy as np
import pytest

EVIL = "a\x1b[1;31mb\x1b]0;title\x07c\x9bd\nrank 9\x7f\u202egnp\u2028\u2066\u061c\u200f\x85größe"
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
    assert said and is_tame(said), ascii(said)
    if verb in ("ls", "compare"):
        assert SHOWN in said, ascii(said)


def test_names_in_messages(tmp_path):
    (tmp_path / "x\x1b[2Jy.npz").write_bytes(b"PK\x03\x04 nothing")
    for said in (opdump("ls", tmp_path / "x\x1b[2Jy.npz"), opdump("show", tmp_path / "no\x1b[2J", "--op", "a")):
        assert said and is_tame(said) and r"\x1b[2J" in said, ascii(said)


def on_a_terminal(words, *, rows=10, columns=80, **environment):
    """What a terminal of so many rows and columns gets, and the exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.environ.pop("NO_COLOR", None)
        os.environ.update({"TERM": "xterm", **environment})
        os.execv(os.environ["OPDUMP_BIN"], [os.environ["OPDUMP_BIN"], *map(str, words)])
    said, ends = b"", 0
    while ends < 2:
        try:
            said += os.read(terminal, 65536)
        except OSError:  # what was written last may come after the first one
            ends += 1
            time.sleep(0.2)
    return said.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def large(tmp_path):
    np.savez(tmp_path / "large.npz", **{f"layer{i}": np.zeros(2) for i in range(40)})
    return tmp_path / "large.npz"


def test_a_pager_shows_what_is_longer_than_the_terminal(large):
    pager = "sed 's/^/PAGED /'"
    said, status = on_a_terminal(["ls", large], rows=12, PAGER=pager)
    assert status == 0 and said.count("PAGED ") == len(said.splitlines()) > 80
    said, status = on_a_terminal(["ls", large, "--limit", "1"], rows=12, PAGER=pager)
    assert status == 0 and "PAGED" not in said and "layer0" in said
    for quiet in ("", "cat"):
        said, status = on_a_terminal(["ls", large], rows=12, PAGER=quiet)
        assert status == 0 and "PAGED" not in said and "layer39" in said


def test_the_exit_status_is_the_verbs_own_with_a_pager(dumps, large):
    said, status = on_a_terminal(["compare", dumps / "golden.npz", dumps / "actual.npz", "--all"], rows=2, PAGER="cat -")
    assert status == 1 and "first bad operator" in said


@pytest.mark.parametrize("words, status", [(["ls"], 0), (["compare", "--all"], 3)])
def test_a_reader_that_has_gone_is_no_error(tmp_path, words, status):
    np.savez(tmp_path / "huge.npz", **{f"layer{i}": np.zeros(2) for i in range(3000)})
    dumps = [tmp_path / "huge.npz"] * (2 if words[0] == "compare" else 1)
    command = subprocess.Popen([os.environ["OPDUMP_BIN"], words[0], *dumps, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    command.stdout.readline()
    command.stdout.close()
    assert (command.wait(), command.stderr.read()) == (status, b"")


@pytest.mark.parametrize("words", [["compare", "--help"], ["run", "--help"], ["msaccucmp", "--help"], ["msaccucmp", "compare", "-h"]])
def test_help_that_is_not_read_to_its_end(words):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run([os.environ["OPDUMP_BIN"], *words], stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_colours(dumps):
    words = ["compare", dumps / "golden.npz", dumps / "actual.npz"]
    assert "\x1b[1;31m" in opdump(*words, "--color", "always")
    assert "\x1b[1;31m" not in opdump(*words)
    assert "\x1b[1;31m" in on_a_terminal(words, PAGER="cat")[0]
    assert "\x1b[1;31m" not in on_a_terminal(words, PAGER="cat", NO_COLOR="1")[0]
    assert "\x1b[1;31m" not in on_a_terminal([*words, "--color", "never"], PAGER="cat")[0]


def test_lines_fit_the_terminal(dumps, large):
    long = "Default/" + "a_module_with_a_long_name/" * 4 + "operator"
    np.savez(dumps / "long.npz", **{long: np.arange(40.0)})
    np.savez(dumps / "other.npz", **{long: np.arange(40.0) + 0.001})
    for columns in (80, 100):
        for words in (["ls", dumps / "long.npz"], ["ls", large, "--tree"], ["--help"], ["compare", dumps / "long.npz", dumps / "other.npz", "--stat"]):
            said, _ = on_a_terminal(words, rows=500, columns=columns, NO_COLOR="1")
            assert len(said.splitlines()) > 2, words
            wide = [line for line in said.splitlines() if len(line) > max(columns, 80 if words[0] == "--help" else 0)]
            assert [line for line in wide if long not in line] == []  # the opening has it whole, to be copied


@pytest.mark.parametrize("verb", ["run", "plan", "ls", "show", "ir", "compare", "blame", "report", "view", "query", "convert"])
def test_help_fits_80_columns(verb):
    wide = [line for line in opdump(verb, "--help").splitlines() if len(line) > 80 and not line.startswith("  opdump ")]
    assert wide == []  # but commands, which are copied
