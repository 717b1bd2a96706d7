"""`opdump diff` on real programs: two command lines in, the step and the operator out."""

import json
import re
import os
import pathlib
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAMS = pathlib.Path(__file__).parent / "programs"
TRAIN = f"{sys.executable} {PROGRAMS / 'train.py'}"
TORCH2 = os.environ.get("OPDUMP_TORCH2", "")


@pytest.fixture
def diff(tmp_path):
    """Runs `opdump diff` and returns its exit status, its JSON and its stderr."""

    def run(*arguments, python=sys.executable):
        done = subprocess.run([OPDUMP, "diff", "--json", "--python", python, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=800)
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    return run


def program(name, *arguments):
    return " ".join([sys.executable, str(PROGRAMS / name), *arguments])


def source_of(name, text):
    """The file and line of the only line of a program that has `text`."""
    lines = [i for i, line in enumerate((PROGRAMS / name).read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1, lines
    return f"{name}:{lines[0]}"


@pytest.mark.parametrize("fault, operator, text", [
    ("weight", "second-Linear/addmm", "x = self.second("),
    ("rate", "addcdiv_", "optimizer.step()"),
    pytest.param("kernel", "Default/div", "x = x * (27", marks=pytest.mark.nightly),
    pytest.param("batch", "first-Linear/addmm", "x = self.second(", marks=pytest.mark.nightly),
])
def test_a_fault_at_step_137_of_300_is_found(diff, tmp_path, fault, operator, text):
    status, answer, log = diff(TRAIN, f"{TRAIN} --fault {fault}")
    assert status == 1, log
    assert (answer["schema_version"], answer["outcome"], answer["step"]) == (1, "differs", 137), answer["sentence"]
    assert "identical to the last bit in steps 0 to 136" in answer["where"]
    assert answer["blame"]["findings"][0]["step"] == 137
    assert operator in answer["operator"], answer["sentence"]
    assert answer["source"].endswith(source_of("train.py", text)), answer["source"]
    assert (tmp_path / answer["report"]).stat().st_size > 10_000
    assert sorted(path.name for path in (tmp_path / "opdump_diff").iterdir()) == ["a", "b", "report.html", "result.opdump"]


def test_b_is_stopped_where_it_parts(diff, tmp_path):
    slow = program("slow.py", "--steps", "100")
    status, answer, log = diff("--no-rerun", slow, f"{slow} --fault factor --pause 0.2")
    assert (status, answer["outcome"], answer["step"]) == (1, "differs", 5), log
    assert 7 <= len((tmp_path / "opdump_diff/b/fingerprints.log").read_text().splitlines()) < 90
    status, answer, log = diff("--no-rerun", "--keep-going", slow, f"{slow} --fault factor --pause 0.02")
    assert (status, answer["step"]) == (1, 5), log
    assert "99 " in (tmp_path / "opdump_diff-2/b/fingerprints.log").read_text()


def test_only_some_steps(diff):
    faulty = f"{TRAIN} --steps 20 --at 7 --fault kernel"
    status, answer, log = diff("--no-rerun", "--steps", "3-9,15", f"{TRAIN} --steps 20", faulty)
    assert (status, answer["step"], answer["where"]) == (1, 7, "identical to the last bit in steps 3 to 6, and not in step 7"), log
    status, answer, log = diff("--steps", "0-5", f"{TRAIN} --steps 20", faulty)
    assert (status, answer["steps"]) == (0, 6), log


def test_equal_programs_are_identical_to_the_last_bit(diff):
    status, answer, log = diff(f"{TRAIN} --steps 40", f"{TRAIN} --steps 40")
    assert (status, answer["outcome"], answer["steps"]) == (0, "identical", 40), log
    assert answer["sentence"].startswith("identical to the last bit in 40 steps")


def test_other_kernels_are_rounding(diff):
    status, answer, log = diff(f"{TRAIN} --steps 40", f"ATEN_CPU_CAPABILITY=default {TRAIN} --steps 40")
    assert (status, answer["outcome"]) == (0, "rounding"), (answer, log)


def test_a_resumed_run_without_the_state_of_adam(diff, tmp_path):
    subprocess.run([sys.executable, PROGRAMS / "resume.py", "--save"], cwd=tmp_path, check=True)
    status, answer, log = diff(program("resume.py"), program("resume.py", "--lost"))
    assert (status, answer["step"]) == (1, 0), log
    assert "Adam" in answer["sentence"], answer["sentence"]


@pytest.mark.skipif(not os.path.exists(TORCH2), reason="torch 1.13 multiplies no float16 matrices on the CPU")
def test_an_overflow_of_float16(diff):
    command = f"{TORCH2} {PROGRAMS / 'overflow.py'}"
    status, answer, log = diff(f"{command} float32", f"{command} float16", python=TORCH2)
    assert status == 1, log
    assert 85 <= answer["step"] <= 95, answer["sentence"]
    assert answer["blame"]["findings"][0]["cause"] == "overflow", answer["sentence"]


@pytest.mark.skipif(not os.path.exists(TORCH2), reason="torch.distributed.run of torch 1.13 does not start with this Python")
def test_a_fault_of_one_rank(diff):
    ranks = f"{TORCH2} -m torch.distributed.run --standalone --nproc-per-node 2 {PROGRAMS / 'ranks.py'}"
    status, answer, log = diff(ranks, f"{ranks} --fault kernel", python=TORCH2)
    assert (status, answer["step"]) == (1, 23), log
    assert ", step 23, rank 1)" in answer["sentence"], answer["sentence"]
    assert answer["source"].endswith(source_of("ranks.py", "hidden = hidden * (27")), answer["source"]


def test_one_command_is_deterministic(diff):
    status, answer, log = diff(f"{TRAIN} --steps 20")
    assert (status, answer["outcome"]) == (0, "identical"), log
    assert answer["sentence"].startswith("deterministic: identical to the last bit in 20 steps")


@pytest.mark.parametrize("name, operator, advice", [
    # A thread may come in before another one or within it.
    ("race.py", "index_add_", "the same operators run in another order: threads|another thread of the program writes to the tensor"),
    ("workers.py", "addmm", "the data comes in another order: that of workers"),
    ("augment.py", "full", "the program gives it another number: .*worker_init_fn"),
])
def test_one_command_is_not_deterministic(diff, name, operator, advice):
    status, answer, log = diff(program(name))
    assert (status, answer["outcome"]) == (1, "differs"), log
    assert operator in answer["operator"], answer["sentence"]
    assert re.search(advice, " ".join(answer["notes"])), answer


def test_without_a_seed_nobody_is_blamed(diff):
    for arguments in ([f"{TRAIN} --no-seed --steps 20", f"{TRAIN} --no-seed --steps 20 --at 5 --fault kernel"],
                      ["--noise", "2", f"{TRAIN} --no-seed --steps 20", f"{TRAIN} --no-seed --steps 20 --at 5 --fault kernel"]):
        status, answer, log = diff(*arguments)
        assert (status, answer["outcome"]) == (3, "not_reproducible"), (answer, log)
        assert "uniform_" in answer["sentence"] and "torch.manual_seed" in " ".join(answer["notes"])
        assert answer["blame"] is None


def test_one_command_without_a_seed(diff):
    status, answer, log = diff(f"{TRAIN} --no-seed --steps 5")
    assert (status, answer["outcome"]) == (1, "differs"), log
    assert "sets no seed" in " ".join(answer["notes"])


def test_noise_of_a_program_with_a_seed_is_none(diff):
    status, answer, log = diff("--noise", "2", f"{TRAIN} --steps 20", f"{TRAIN} --steps 20 --at 7 --fault kernel")
    assert (status, answer["step"]) == (1, 7), log


def test_without_a_rerun_the_commands_are_printed(diff, tmp_path):
    status, answer, log = diff("--no-rerun", f"{TRAIN} --steps 20", f"LR=1 {TRAIN} --steps 20 --at 7 --fault kernel")
    assert (status, answer["step"], answer["blame"]) == (1, 7, None), log
    first, second, blame = answer["commands"]
    assert second.startswith("LR=1 opdump run ")
    for command in first, second:
        words = command.replace("opdump run", f"{OPDUMP} run", 1)
        subprocess.run(words, shell=True, cwd=tmp_path, check=True, capture_output=True)
    blamed = subprocess.run(blame.replace("opdump", str(OPDUMP), 1) + f" --python {sys.executable}", shell=True, cwd=tmp_path, capture_output=True,
                            text=True)
    assert blamed.returncode == 1 and "Default/div-op0" in blamed.stdout


def test_words_behind_dashes_and_directories(diff, tmp_path):
    for name, scale in ("old", 1), ("new", 2):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.py").write_text(f"import torch\nx = torch.ones(3).exp()\nprint(x.mul({scale}).sum())\n")
    status, answer, log = diff("--cwd", "old", "--cwd", "new", "--", sys.executable, "net.py", "---", "SOME=1", sys.executable, "net.py")
    assert (status, answer["operator"]) == (1, "Default/mul-op0"), log
    assert [side["directory"] for side in answer["sides"]] == ["old", "new"]


def test_two_folders_are_compared_and_blamed(tmp_path):
    (tmp_path / "net.py").write_text("import sys, torch\nprint(torch.ones(3).exp().mul(int(sys.argv[1])).sum())\n")
    for name, scale in ("golden", "1"), ("actual", "2"):
        subprocess.run([OPDUMP, "run", "-o", name, "--", sys.executable, "net.py", scale], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([OPDUMP, "diff", "--python", sys.executable, "golden", "actual"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "verdict" in done.stdout and "culprit (certain): Default/mul-op0" in done.stdout


def test_a_side_that_ends_with_an_error(diff):
    status, answer, log = diff(f"{TRAIN} --steps 20", f"{TRAIN} --steps 20 --at 7 --fault crash")
    assert (status, answer["outcome"]) == (3, "incomplete"), log
    assert "B ended with exit status 1 (the disk with the data is gone)" in " ".join(answer["notes"])


def refused(diff, status, *arguments):
    done, answer, log = diff(*arguments)
    assert (done, answer) == (status, {}), log
    return [line for line in log.splitlines() if line.startswith("opdump: ")][-1]


def test_bad_input_gets_one_sentence(diff, tmp_path):
    train = f"{TRAIN} --steps 5"
    assert "B cannot be started" in refused(diff, 3, train, "no-such-program --steps 5")
    assert "no-such-program" in refused(diff, 3, "no-such-program", train)
    assert "ended with exit status 1 (SyntaxError" in refused(diff, 3, f"{sys.executable} -c 'for'", train)
    assert "did not import torch" in refused(diff, 3, f"{sys.executable} -c 'print(1)'", train)
    assert "without an end" in refused(diff, 2, "python3 'train.py", train)
    assert "expected" in refused(diff, 2)
    assert "3 command lines" in refused(diff, 2, train, train, train)
    assert "--steps is \"3-1\"" in refused(diff, 2, "--steps", "3-1", train, train)
    assert "no such directory" in refused(diff, 2, "--cwd", "nowhere", train, train)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    assert "has files already" in refused(diff, 2, "-o", "full", train, train)


def test_another_program(diff):
    status, answer, log = diff(f"{TRAIN} --steps 20", program("other.py"))
    assert (status, answer["outcome"]) == (3, "incomplete"), (answer, log)
    assert "different programs" in answer["sentence"] and "have a counterpart" in answer["sentence"]


def test_a_budget_that_is_spent(diff):
    status, answer, log = diff("--budget", "300K", f"{TRAIN} --steps 40", f"{TRAIN} --steps 40")
    assert (status, answer["outcome"]) == (3, "incomplete"), (answer, log)
    assert "is not recorded from" in " ".join(answer["notes"])


@pytest.fixture
def small_disk(tmp_path):
    """Runs opdump where `disk` has room for 2 MiB."""
    (tmp_path / "disk").mkdir()
    mounting = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs -o size=2m none disk && exec "$@"', "sh"]
    if subprocess.run([*mounting, "true"], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    return lambda *words: subprocess.run([*mounting, OPDUMP, *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=300)


def test_a_disk_that_fills_up(small_disk):
    filling = program("fill.py", "disk", "10")
    done = small_disk("diff", "-o", "disk/diff", filling, filling)
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stderr.splitlines()[-1] == "opdump: B cannot be recorded: disk/diff/b: No space left on device"
    done = small_disk("run", "-o", "disk/golden", "--steps", "all", "--fingerprints", "--", *filling.split())
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr
    # Of the log and the prints, whichever is written first finds no room.
    assert "recording stopped: " in done.stderr, done.stderr
    assert re.search("not in the dump: (steps|tensors) after recording stopped", done.stderr), done.stderr
    done = small_disk("watch", "-o", "disk/watch", "--", *filling.split())
    assert done.returncode == 0 and done.stdout == "done\n" and "No space left on device" in done.stderr, done.stderr
