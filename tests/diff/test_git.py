"""`opdump diff --rev` and `opdump bisect` on real repositories of git, with a small program of torch."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
TRAIN = f"{sys.executable} train.py"
PROGRAM = """
import torch
from net import scale
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    scale(model(torch.ones(2, 4)), step).pow(2).sum().backward()
    optimizer.step()
"""


class Repository:
    """Nine commits, c1 to c9: the fifth has a fault from step 2 on, the third does not start."""

    def __init__(self, directory):
        self.directory, self.temporary = directory / "net", directory / "tmp"
        self.directory.mkdir()
        self.temporary.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write("train.py", PROGRAM)
        for number in range(1, 10):
            fault = "2 if step < 2 else 2.5" if number >= 5 else "2"
            self.write("net.py", ("import no_such_module\n" if number == 3 else "") + f"# {number}\ndef scale(x, step):\n    return x * ({fault})\n")
            self.commit(f"change {number}", f"c{number}")

    def write(self, name, text):
        (self.directory / name).write_text(text)

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=self.directory, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, subject, tag):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        self.git("tag", tag)

    def environment(self):
        return {**os.environ, "TMPDIR": str(self.temporary)}

    def opdump(self, *words):
        done = subprocess.run([OPDUMP, *words], cwd=self.directory, env=self.environment(), capture_output=True, text=True, timeout=800)
        return done.returncode, done.stdout, done.stderr

    def ask(self, verb, *words):
        """With --json; the recordings lie outside the repository."""
        status, out, log = self.opdump(verb, "--json", "--python", sys.executable, "-o", str(self.directory.parent / "recordings"), *words)
        return status, json.loads(out) if out else {}, log

    def has_own_trees_only(self):
        """False as well while one is being removed, when git cannot list them."""
        listed = subprocess.run(["git", "worktree", "list"], cwd=self.directory, capture_output=True, text=True)
        return listed.returncode == 0 and len(listed.stdout.splitlines()) == 1 and not list(self.temporary.glob("opdump-*/net"))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def state(repository):
    own = repository.directory / ".git"
    return (repository.git("status", "--porcelain"), repository.git("rev-parse", "HEAD"), repository.git("for-each-ref"),
            {path.name: path.read_text() for path in own.glob("BISECT_*")}, repository.git("diff"))


def test_the_fifth_of_nine_commits_is_found(repository):
    """The user's own bisection, changes and checkout stay as they are."""
    repository.git("bisect", "start", "c8", "c2")
    repository.write("train.py", PROGRAM + "# not committed\n")
    before = state(repository)
    status, answer, log = repository.ask("bisect", "c1", "c9", TRAIN)
    assert status == 1, log
    assert answer["first_bad"] == {"id": repository.git("rev-parse", "c5").strip(), "subject": "change 5"}
    assert (answer["step"], answer["outcome"]) == (2, "differs")
    assert "Default/mul" in answer["operator"] and answer["source"] == "net.py:3", answer
    assert "2.5 in actual" in answer["sentence"]
    assert answer["judged"]["skip"] == 1 and "skipped: B ended with exit status 1 (ModuleNotFoundError" in log
    assert answer["judged"]["good"] + answer["judged"]["bad"] <= 5
    assert state(repository) == before
    assert repository.has_own_trees_only()
    folders = sorted(path.name for path in (repository.directory.parent / "recordings").iterdir() if path.is_dir())
    skipped, found = (repository.git("rev-parse", name)[:10] for name in ("c3", "c5"))
    assert folders == sorted(["good", skipped, found])


def test_a_revision_against_the_files_as_they_are(repository):
    repository.write("net.py", "def scale(x, step):\n    return x * 3\n")
    status, answer, log = repository.ask("diff", "--rev", "c4", TRAIN)
    assert (status, answer["step"], answer["source"]) == (1, 0, "net.py:3"), log  # the line of A
    assert f"opdump: A is c4 ({repository.git('rev-parse', 'c4')[:10]} change 4), B your files as they are, with changes of 1 file that are not committed\n" in log
    assert [side["revision"] is None for side in answer["sides"]] == [False, True]
    assert repository.has_own_trees_only()


def test_two_revisions(repository):
    repository.write("train.py", "not python at all")
    status, answer, log = repository.ask("diff", "--rev", "c1", "--rev", "main", TRAIN)
    assert (status, answer["step"]) == (1, 2), log
    assert "; your changes of 1 file that are not committed are in neither\n" in log
    assert repository.has_own_trees_only()


def test_commits_that_compute_the_same(repository):
    status, answer, log = repository.ask("bisect", "c1", "c2", TRAIN)
    assert (status, answer["outcome"], answer["first_bad"]) == (0, "identical", None), log


def test_only_skipped_commits_are_left(repository):
    """The fault comes with a commit that does not start."""
    repository.git("checkout", "-q", "-b", "other", "c2")
    for number, text in (1, "import no_such_module\ndef scale(x, step):\n    return x * 3\n"), (2, "def scale(x, step):\n    return x * 3\n"):
        repository.write("net.py", text)
        repository.commit(f"other {number}", f"o{number}")
    status, answer, log = repository.ask("bisect", "c2", "o2", TRAIN)
    assert status == 3, log
    assert {commit["subject"] for commit in answer["candidates"]} == {"other 1", "other 2"} and answer["first_bad"] is None


@pytest.mark.parametrize("words, expected, sentence", [
    (("bisect", "c1", "none", TRAIN), 2, "'none' is no revision of"),
    (("bisect", "c9", "c1", TRAIN), 2, "GOOD does not lead to BAD: c9 ("),
    (("bisect", "c1", "c1", TRAIN), 2, "GOOD and BAD are the same commit"),
    (("bisect", "c1", "c9"), 2, "two revisions and a command line are expected"),
    (("bisect", "c1", "c9", "no_such_program train.py"), 3, "A cannot be started: no_such_program"),
    (("bisect", "c3", "c9", TRAIN), 3, "A ended with exit status 1 (ModuleNotFoundError"),
    (("bisect", "--cwd", "..", "c1", "c9", TRAIN), 2, "is in no working tree of a git repository"),
    (("diff", "--rev", "none", TRAIN), 2, "'none' is no revision of"),
    (("diff", "--rev", "c1", "--no-rerun", TRAIN), 2, "--rev and --no-rerun exclude each other"),
    (("diff", "--rev", "c1", "--rev", "c2", "--rev", "c3", TRAIN), 2, "--rev is given 3 times"),
    (("diff", "--cwd", "..", "--rev", "c1", TRAIN), 2, "is in no working tree of a git repository"),
])
def test_mistakes_are_one_sentence(repository, words, expected, sentence):
    status, out, log = repository.opdump(*words)
    assert (status, out) == (expected, ""), log
    assert sentence in log.splitlines()[-1], log
    assert repository.has_own_trees_only()
    assert expected == 3 or not list(repository.directory.glob("opdump_*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_by_a_signal_leaves_no_working_tree(repository, number):
    running = subprocess.Popen([OPDUMP, "bisect", "c1", "c9", "sleep 300"], cwd=repository.directory, env=repository.environment(),
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: list((repository.directory / "opdump_bisect").glob("good/*.log")))
    finally:
        os.killpg(running.pid, number)
        running.wait(60)
    wait_until(repository.has_own_trees_only)


def wait_until(holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)
