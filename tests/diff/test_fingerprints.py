"""The file of `opdump run --fingerprints`: its size, what verbs read in it, and what a kill leaves."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAMS = pathlib.Path(__file__).parent / "programs"
FILE = "rank_0/fingerprints.bin"


def opdump(*arguments, cwd=None):
    return subprocess.run([OPDUMP, *arguments], cwd=cwd, capture_output=True, text=True, timeout=600)


def record(folder, *command, options=("--steps", "all", "--fingerprints")):
    done = opdump("run", "-o", folder, *options, "--", *command)
    assert done.returncode == 0, done.stderr
    return done


def train(*arguments):
    return [sys.executable, PROGRAMS / "train.py", *arguments]


def record_table(folder, *command):
    """The same as tables of text, as configurations without the key "fingerprints" ask for."""
    config = json.loads((folder.parent / "prints" / "opdump_config.json").read_text())
    del config["opdump_settings"]["fingerprints"]
    path = folder.parent / "table.json"
    path.write_text(json.dumps(config))
    record(folder, *command, options=("--config", path))


def status(folder, rank=0):
    return json.loads((folder / f"rank_{rank}" / "opdump_status.json").read_text())


def size(folder):
    return sum(path.stat().st_size for path in (folder / "rank_0").rglob("*") if path.is_file())


def rows(folder, complete=True):
    """What `opdump ls` says of each execution, but for its time."""
    done = opdump("ls", "--json", "--flat", folder)
    assert done.returncode == (0 if complete else 3), done.stderr

    def strip(value):
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if "time" not in key}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return [strip(json.loads(line)) for line in done.stdout.splitlines()][:-1]


def statistics(folder):
    return int(re.search(r"(\d+) rows of statistics", opdump("ls", folder).stdout)[1])


def test_a_later_step_takes_less_than_forty_bytes_a_tensor(tmp_path):
    folders = {steps: tmp_path / f"steps{steps}" for steps in (20, 120)}
    for steps, folder in folders.items():
        record(folder, *train("--steps", str(steps)))
    tensors = status(folders[120])["row_count"] - status(folders[20])["row_count"]
    assert tensors > 100 * 200
    alone = ((folders[120] / FILE).stat().st_size - (folders[20] / FILE).stat().st_size) / tensors
    whole = (size(folders[120]) - size(folders[20])) / tensors  # with operators.jsonl
    print(f"{alone:.1f} bytes a tensor, {whole:.1f} with all other files")
    assert alone < 30
    assert whole <= 40


def test_all_verbs_say_the_same_as_of_tables(tmp_path):
    prints, table, other = tmp_path / "prints", tmp_path / "table", tmp_path / "other"
    record(prints, *train("--steps", "6"))
    record_table(table, *train("--steps", "6"))
    record(other, *train("--steps", "6", "--at", "3", "--fault", "rate"))
    assert (prints / FILE).exists() and not list(prints.rglob("statistic.csv"))
    assert list(table.rglob("statistic.csv")) and not (table / FILE).exists()
    assert rows(prints) == rows(table)
    for first, second in ((prints, table), (table, prints)):
        done = opdump("compare", first, second)
        assert done.returncode == 0, done.stdout
    answers = []
    for golden in prints, table:
        done = opdump("compare", "--json", golden, other)
        assert done.returncode == 1, done.stderr
        answers.append(done.stdout.replace(str(golden), "GOLDEN").splitlines()[-1])
        blamed = opdump("blame", golden, other)
        answers[-1] += blamed.stdout.replace(str(golden), "GOLDEN")
        assert opdump("report", golden, other, "-o", tmp_path / f"{golden.name}.html").returncode in (0, 1)
    assert answers[0] == answers[1]
    shown = [opdump("show", folder, "--op", "first-Linear/addmm", "--step", "2").stdout for folder in (prints, table)]
    assert "addmm" in shown[0] and len(shown[0].splitlines()) == len(shown[1].splitlines())


def test_against_a_golden_of_tables(tmp_path):
    record(tmp_path / "prints", *train("--steps", "6"))
    record_table(tmp_path / "table", *train("--steps", "6"))
    for golden, name in (("prints", FILE), ("table", "opdump_config.json")):
        done = opdump("run", "--against", golden, "-o", f"new_{golden}", "--check", "--", *train("--steps", "6"), cwd=tmp_path)
        assert done.returncode == 0 and "no difference" in done.stderr, done.stderr
        assert (tmp_path / f"new_{golden}" / name).exists()


def test_a_kill_leaves_what_was_recorded(tmp_path):
    folder = tmp_path / "killed"
    child = subprocess.Popen([OPDUMP, "run", "-o", folder, "--steps", "all", "--fingerprints", "--", sys.executable, PROGRAMS / "slow.py", "--steps",
                              "100000", "--pause", "0.002"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    last = 0
    for line in child.stdout:
        last = int(line.split()[0])
        if last >= 300:
            os.killpg(child.pid, signal.SIGKILL)
            break
    child.communicate()
    listed = opdump("ls", folder)
    assert listed.returncode == 3 and "recording is unfinished" in listed.stdout, listed.stdout
    assert max(row["step"] for row in rows(folder, complete=False)) >= last - 60  # 20 ms are lost at most, and what a busy machine had not got round to
    # The same, killed in the middle of a block.
    file = folder / FILE
    file.chmod(0o600)
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 7)
    cut = opdump("ls", folder)
    assert cut.returncode == 3 and "fingerprints.bin: cut short at byte " in cut.stdout, cut.stdout
    compared = opdump("compare", folder, folder)
    assert compared.returncode == 3 and "cut short" in compared.stdout + compared.stderr, compared.stdout


def test_a_damaged_block_is_named(tmp_path):
    folder = tmp_path / "dump"
    record(folder, *train("--steps", "6"))
    file = folder / FILE
    file.chmod(0o600)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    listed = opdump("ls", folder)
    assert listed.returncode == 0 and "fingerprints.bin: byte " in listed.stdout and "damaged" in listed.stdout, listed.stdout
    assert opdump("compare", folder, folder).returncode == 3


def test_two_ranks_have_files_of_their_own(tmp_path):
    script = " & ".join(f"RANK={rank} WORLD_SIZE=2 {sys.executable} {PROGRAMS / 'train.py'} --steps 4" for rank in range(2)) + " & wait"
    record(tmp_path / "ranks", "/bin/sh", "-c", script)
    for rank in range(2):
        assert (tmp_path / "ranks" / f"rank_{rank}" / "fingerprints.bin").stat().st_size > 10_000
    assert {row["rank"] for row in rows(tmp_path / "ranks")} == {0, 1}


def test_a_recording_is_replaced_and_added_to(tmp_path):
    folder = tmp_path / "dump"
    record(folder, *train("--steps", "3"))
    once = statistics(folder)
    refused = opdump("run", "-o", folder, "--fingerprints", "--", *train("--steps", "1"))
    assert refused.returncode == 2 and "has a dump already" in refused.stderr
    record(folder, *train("--steps", "3"), options=("--steps", "all", "--fingerprints", "--append"))
    assert statistics(folder) == 2 * once
    record(folder, *train("--steps", "3"), options=("--steps", "all", "--fingerprints", "--force"))
    assert statistics(folder) == once


def test_only_plain_fingerprints_are_one_file(tmp_path):
    record(tmp_path / "both", *train("--steps", "2"), options=("--fingerprints", "--tensors"))
    assert list((tmp_path / "both").rglob("statistic.csv")) and not (tmp_path / "both" / FILE).exists()
    record(tmp_path / "prints", *train("--steps", "2"))
    config = json.loads((tmp_path / "prints" / "opdump_config.json").read_text())
    config["common_dump_settings"]["statistic_category"] = ["max", "md5"]
    (tmp_path / "other.json").write_text(json.dumps(config))
    refused = opdump("plan", tmp_path / "other.json")
    assert refused.returncode == 2 and "fingerprints" in refused.stderr, refused.stderr


@pytest.mark.parametrize("steps", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_nothing_grows_with_the_number_of_steps(tmp_path, steps):
    done = record(tmp_path / "dump", sys.executable, PROGRAMS / "long.py", str(steps))
    grew = json.loads(done.stdout.splitlines()[-1])
    assert grew["memory_kib"] < 8 * 1024 and grew["files"] <= 0, grew
    assert status(tmp_path / "dump")["row_count"] > 20 * steps


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.4, 1.3])
def test_a_kill_at_any_moment_leaves_a_file_that_says_so(tmp_path, seconds):
    """Of the program alone: opdump says it, too."""
    child = subprocess.Popen([OPDUMP, "run", "-o", "killed", "--steps", "all", "--fingerprints", "--", sys.executable, PROGRAMS / "slow.py", "--steps",
                              "100000"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()  # of step 0
    time.sleep(seconds)
    program = (pathlib.Path("/proc") / str(child.pid) / "task" / str(child.pid) / "children").read_text().split()
    os.kill(int(program[0]), signal.SIGKILL)
    _, log = child.communicate()
    assert child.returncode == -signal.SIGKILL and "the recording was cut short" in log, log
    listed = opdump("ls", "killed", cwd=tmp_path)
    assert listed.returncode == 3 and "recording is unfinished" in listed.stdout, listed.stdout
    assert rows(tmp_path / "killed", complete=False)
    compared = opdump("diff", "killed", "killed", cwd=tmp_path)
    assert compared.returncode == 3 and "unfinished" in compared.stdout, compared.stdout
