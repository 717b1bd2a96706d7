"""`opdump watch` on real programs: it names the operator that makes the first NaN or infinity, and leaves the program alone."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAMS = pathlib.Path(__file__).parent / "programs"
TORCH2 = os.environ.get("OPDUMP_TORCH2", "")
pythons = [pytest.param(sys.executable, id="debian"),
           pytest.param(TORCH2, id="newest", marks=pytest.mark.skipif(not os.path.exists(TORCH2), reason="no torch of PyPI"))]


class Watched:
    def __init__(self, done):
        self.status, self.stderr = done.returncode, done.stderr
        *program, answer = done.stdout.splitlines() or [""]
        self.printed, self.answer = program, json.loads(answer)
        self.answer["source"] = self.answer["source"] and os.path.basename(self.answer["source"])  # the programs are not below tmp_path

    def __getitem__(self, key):
        return self.answer[key]


@pytest.fixture
def watch(tmp_path):
    """Runs `opdump watch --json`."""

    def run(name, *arguments, options=(), python=sys.executable):
        done = subprocess.run([OPDUMP, "watch", "--json", *options, "--", python, PROGRAMS / name, *arguments], cwd=tmp_path,
                              capture_output=True, text=True, timeout=800)
        return Watched(done)

    return run


def source_of(name, text):
    """The file and line of the only line of a program that has `text`."""
    lines = [i for i, line in enumerate((PROGRAMS / name).read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1, lines
    return f"{name}:{lines[0]}"


def opdump(tmp_path, *arguments):
    return subprocess.run([OPDUMP, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=800, check=True).stdout


@pytest.mark.parametrize("python", pythons)
def test_float16_overflows_in_step_90(watch, tmp_path, python):
    seen = watch("half.py", python=python)
    assert seen.status == 0 and seen.printed[0].startswith("done ")
    assert seen["kind"] == "not_finite" and seen["step"] == 90 and seen["phase"] == "forward"
    assert seen["source"] == source_of("half.py", ").half()") and seen["module"].startswith("Default/store-")
    assert "exceeds float16's largest number, 65504" in seen["why"]
    assert any("bfloat16" in advice for advice in seen["advice"])
    # What it read grew by a percent a step: too little to be called growth.
    assert [step for step, _ in seen["trend"]["values"]] == list(range(81, 91))
    assert 1.08 < seen["trend"]["factor"] < 1.11
    assert (seen["first_step"], seen["last_step"], seen["watched_steps"]) == (81, 90, 120)
    assert seen["folder"] == "opdump_watch"
    # An ordinary dump: with the tensors of the operator, and the statistics of ten steps.
    made = {tensor["slot"]: tensor for tensor in seen["tensors"]}
    assert made["output.0"]["inf_count"] > 0 and os.path.exists(tmp_path / made["input.0"]["file"])
    assert "first infinity: " + seen["operator"] in opdump(tmp_path, "ls", "--nan", "opdump_watch")
    assert "float16" in opdump(tmp_path, "show", "opdump_watch", seen["operator"], "--step", "90")
    opdump(tmp_path, "report", "opdump_watch", "-o", "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize("name, arguments", [("half.py", ()), ("end.py", ("end",)), ("attention.py", ())])
def test_the_program_is_the_same(watch, name, arguments):
    """Its numbers and its random state, whether something is found or not."""
    plain = subprocess.run([sys.executable, PROGRAMS / name, *arguments], capture_output=True, text=True, timeout=300, check=True)
    seen = watch(name, *arguments)
    assert (seen.status, seen.printed) == (0, plain.stdout.splitlines())


@pytest.mark.parametrize("python", pythons)
def test_the_log_of_0(watch, python):
    seen = watch("entropy.py", python=python)
    assert seen["kind"] == "not_finite" and seen["type"] == "log" and seen["source"] == source_of("entropy.py", "p.log()")
    assert seen["why"].startswith("log of 0, which ") and any("log_softmax" in advice for advice in seen["advice"])


@pytest.mark.parametrize("python", pythons)
def test_masks_are_no_fault(watch, tmp_path, python):
    seen = watch("attention.py", options=["--check"], python=python)
    assert seen.status == 0 and seen["outcome"] == "nothing" and seen["kind"] is None
    assert seen["watched_steps"] == 13, "what runs behind the last step counts to the next one"
    assert seen["folder"] is None and not list(tmp_path.iterdir())


def test_a_row_that_is_masked_from_end_to_end(watch):
    seen = watch("attention.py", "--pad-all", "6", options=["--check"])
    assert seen.status == 1 and seen["step"] == 6 and "softmax" in seen["type"]
    assert seen["source"] == source_of("attention.py", "torch.softmax(") and seen["module"].startswith("Default/attend-")
    assert "6 of 24 rows along axis" in seen["why"] and "-inf in all elements" in seen["why"]


def test_a_batch_with_a_nan(watch):
    seen = watch("batch.py")
    assert seen["kind"] == "outer_nan" and seen["step"] == 5 and seen["phase"] == "forward"
    assert "no recorded operator made" in seen["sentence"]


def test_an_exception(watch, tmp_path):
    seen = watch("end.py", "exception")
    assert seen.status == 1 and seen["kind"] == "exception" and seen["step"] == 7
    assert "RuntimeError: " in seen["sentence"] and "the last operator that ended before it is " in seen["sentence"]
    assert "ValueError" not in seen.stderr and "Traceback" in seen.stderr
    assert (seen["first_step"], seen["last_step"]) == (0, 7)
    opdump(tmp_path, "ls", "opdump_watch")


@pytest.mark.parametrize("name, number", [("kill", signal.SIGKILL), ("segv", signal.SIGSEGV)])
def test_a_signal(watch, tmp_path, name, number):
    seen = watch("end.py", name, options=["--last", "4"])
    assert seen.status == -number and seen["kind"] == "signal" and seen["signal"] == number
    assert seen["step"] in (6, 7) and seen["operator"]  # what was recorded 20 ms ago is on the disk
    assert seen["first_step"] >= 2
    listed = subprocess.run([OPDUMP, "ls", "opdump_watch"], cwd=tmp_path, capture_output=True, text=True)
    assert listed.returncode == 3 and "recording is unfinished" in listed.stdout


def test_an_exit_status(watch):
    seen = watch("end.py", "exit")
    assert seen.status == 5 and seen["kind"] == "exit" and seen["exit_status"] == 5
    assert "the program ended with exit status 5 in step 7" in seen["sentence"]


def test_an_alarm_of_the_program(watch):
    seen = watch("end.py", "alarm", options=["--check"])
    assert seen.status == 1 and seen["kind"] == "alarm" and seen["sentence"] == "step 7: accuracy fell to 3 %"
    assert (seen["first_step"], seen["last_step"], seen["watched_steps"]) == (0, 7, 12)


@pytest.mark.parametrize("arguments", [(), ("--log",)])
def test_a_spike_of_the_loss(watch, arguments):
    seen = watch("loss.py", *arguments, options=["--spike", "loss:5x"])
    assert seen["kind"] == "spike" and seen["step"] == 37 and seen["last_step"] == 37
    assert "times its median" in seen["sentence"]
    assert watch("loss.py", options=["--spike", "loss:500x", "-o", "quiet"])["outcome"] == "nothing"


@pytest.mark.skipif(not os.path.exists(TORCH2), reason="no torch of PyPI")
def test_a_grad_scaler_does_its_work(watch):
    seen = watch("scaler.py", options=["--check"], python=TORCH2)
    assert seen.status == 0 and seen["outcome"] == "nothing"
    assert seen["skipped_updates"] > 2


@pytest.mark.skipif(not os.path.exists(TORCH2), reason="no torch of PyPI")
def test_a_grad_scaler_that_finds_no_scale(watch):
    seen = watch("scaler.py", "--broken", python=TORCH2)
    assert seen["kind"] == "scaler" and seen["phase"] == "backward" and seen["type"] == "log"
    assert "skipped 16 updates" in seen["sentence"] and "largest" not in (seen["why"] or "")


def test_the_disk_does_not_grow(watch, tmp_path):
    """Adam's arguments differ in each step, and each difference is logged."""

    def size(steps):
        folder = f"kept{steps}"
        seen = watch("half.py", "--steps", str(steps), "--overflow-at", "100000", options=["--keep", "--last", "3", "-o", folder])
        assert seen["outcome"] == "nothing" and seen["last_step"] - seen["first_step"] <= 3
        return sum(path.stat().st_size for path in (tmp_path / folder).rglob("*") if path.is_file())

    few, many = size(300), size(3000)
    assert many < 2.5 * few + (1 << 21), (few, many)


@pytest.mark.parametrize("steps", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_nothing_grows_with_the_number_of_steps(watch, steps):
    seen = watch(PROGRAMS.parent.parent / "diff/programs/long.py", str(steps))
    grew = json.loads(seen.printed[-1])
    assert grew["memory_kib"] < 8 * 1024 and grew["files"] <= 0, grew
    assert seen["outcome"] == "nothing" and seen["watched_steps"] >= steps


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.4, 1.3])
def test_a_kill_of_all_at_any_moment_leaves_a_dump_that_says_so(tmp_path, seconds):
    """Nobody is left to tell of it."""
    child = subprocess.Popen([OPDUMP, "watch", "--", sys.executable, PROGRAMS.parent.parent / "diff/programs/slow.py", "--steps", "100000"],
                             cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    child.stdout.readline()  # of step 0
    time.sleep(seconds)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    listed = subprocess.run([OPDUMP, "ls", "opdump_watch"], cwd=tmp_path, capture_output=True, text=True)
    assert listed.returncode == 3 and "recording is unfinished" in listed.stdout, listed.stdout


@pytest.mark.skipif(not os.path.exists(TORCH2), reason="torch.distributed.run of torch 1.13 does not start with this Python")
def test_the_rank_that_was_first(tmp_path):
    ranks = [TORCH2, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", PROGRAMS.parent.parent / "diff/programs/ranks.py"]
    done = subprocess.run([OPDUMP, "watch", "--json", "--", *ranks, "--fault", "overflow"], cwd=tmp_path, capture_output=True, text=True, timeout=800)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert (answer["kind"], answer["rank"], answer["step"], answer["type"]) == ("not_finite", 1, 23, "exp"), answer
    assert os.path.basename(answer["source"]) == os.path.basename(source_of(ranks[-1], "* 1000).exp()"))


def test_nothing_to_watch(watch, tmp_path):
    program = tmp_path / "plain.py"
    program.write_text("print('hello')\n")
    seen = watch(program)
    assert seen.status == 0 and seen.printed == ["hello"] and seen["outcome"] == "nothing"
    assert "did not import torch" in seen.stderr and list(tmp_path.iterdir()) == [program]


@pytest.mark.parametrize("options, message", [
    (["--last", "1"], "--last"), (["--spike", "loss"], "--spike is \"loss\""), (["--spike", "loss:0.5x"], "--spike"),
    (["--spike", ":5x"], "--spike"), (["-o", "."], "has files already")])
def test_wrong_use(tmp_path, options, message):
    (tmp_path / "file").touch()
    done = subprocess.run([OPDUMP, "watch", *options, "--", "true"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr


def test_no_such_program(tmp_path):
    done = subprocess.run([OPDUMP, "watch", "--", "no-such-program"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 127 and not list(tmp_path.iterdir())


def test_the_words(tmp_path):
    done = subprocess.run([OPDUMP, "watch", "--", sys.executable, PROGRAMS / "entropy.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "done\n"
    for text in ("opdump: step ", "  why       log of 0, which ", "  tensors   input.0  float32 (32,3), 0 to ", "  try       ", "  recorded  steps "):
        assert text in done.stderr, done.stderr
