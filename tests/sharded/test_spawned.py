"""Programs that start their ranks themselves, and programs that become a launcher: each process is recorded as its rank."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
NEWEST = os.environ.get("OPDUMP_TORCH2", "")
HERE = pathlib.Path(__file__).resolve().parent


def record(tmp_path, name, *command, text=None, python=sys.executable):
    """The dump and what opdump said."""
    if text:
        (tmp_path / "program.py").write_text(textwrap.dedent(text))
        command = (tmp_path / "program.py", *command)
    done = subprocess.run([OPDUMP, "run", "-o", tmp_path / name, "--", python, *map(str, command)], capture_output=True, text=True,
                          cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / name, done.stderr


def operators(rank):
    return {entry["name"] for entry in map(json.loads, (rank / "operators.jsonl").read_text().splitlines()) if entry["kind"] == "operator"}


def states(rank):
    return {path.name: json.loads(path.read_text())["state"] for path in rank.glob("opdump_status*.json")}


def compare(golden, actual):
    done = subprocess.run([OPDUMP, "compare", golden, actual, "--json"], capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def is_of_ranks(dump, ranks=2):
    assert sorted(path.name for path in dump.glob("rank_*")) == [f"rank_{rank}" for rank in range(ranks)]
    for rank in range(ranks):
        assert states(dump / f"rank_{rank}") == {"opdump_status.json": "complete"}
        assert any(name.endswith("/addmm-op0") for name in operators(dump / f"rank_{rank}"))
        assert not any("Process-" in name for name in operators(dump / f"rank_{rank}"))
    return True


@pytest.mark.parametrize("method", ["spawn", "rank", "fork"])
def test_each_process_is_recorded_as_its_rank(tmp_path, method):
    golden, _ = record(tmp_path, "golden", HERE / "spawned.py", 1)
    actual, said = record(tmp_path, "actual", HERE / "spawned.py", 2, method)
    assert is_of_ranks(actual) and not (actual / "opdump_parent").exists()
    assert "cut short" not in said and said.count("dumped") == 2, said
    status, summary = compare(golden, actual)
    assert status == 0, summary["text"]
    assert summary["compared_tensors"] > 50
    forgotten, _ = record(tmp_path, "forgotten", HERE / "spawned.py", 2, method, "forgotten")
    status, summary = compare(golden, forgotten)
    assert status == 1 and "a reduction is missing" in summary["text"], summary["text"]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_the_process_that_starts_the_ranks_is_apart(tmp_path, method):
    golden, _ = record(tmp_path, "golden", HERE / "spawned.py", 1)
    actual, said = record(tmp_path, "actual", HERE / "spawned.py", 2, method, "before", "after", "early")
    assert compare(golden, actual)[0] == 0
    for rank in (0, 1):
        assert not any(word in name for name in operators(actual / f"rank_{rank}") for word in ("sinh", "cosh", "tanh"))
    apart = operators(actual / "opdump_parent" / "rank_0")
    assert {name for name in apart if "ones" not in name} == \
        {"Default/sinh-op0", *(f"Default/{method.capitalize()}Process-{number}/cosh-op0" for number in (1, 2))}
    assert set(states(actual / "opdump_parent" / "rank_0").values()) <= {"idle", "complete"}
    assert "Default/0-Tanh/tanh-op0" in (operators(actual / "opdump_parent-2" / "rank_0"))
    assert states(actual / "opdump_parent-2" / "rank_0") == {"opdump_status.json": "complete"}
    assert said.count("apart from them") == 1 and str(actual / "opdump_parent") in said, said


def test_workers_of_a_rank_are_recorded_with_it(tmp_path):
    actual, _ = record(tmp_path, "actual", HERE / "spawned.py", 2, "spawn", "workers")
    for rank in (0, 1):
        assert "Default/worker0/tan-op0" in operators(actual / f"rank_{rank}")
        assert set(states(actual / f"rank_{rank}")) == {"opdump_status.json", "opdump_status.worker0.json"}


def test_a_group_of_one_process_changes_nothing(tmp_path):
    actual, _ = record(tmp_path, "actual", HERE / "spawned.py", 1, "spawn", "before", "early")
    assert [path.name for path in actual.glob("rank_*")] == ["rank_0"]
    names = operators(actual / "rank_0")
    assert {"Default/sinh-op0", "Default/SpawnProcess-1/cosh-op0"} <= names
    assert any(name.startswith("Default/SpawnProcess-1/") and "addmm" in name for name in names)
    assert states(actual / "rank_0") == {"opdump_status.json": "complete", "opdump_status.SpawnProcess-1.json": "complete"}


def test_a_second_group_does_not_change_the_rank(tmp_path):
    actual, said = record(tmp_path, "actual", text="""
        import os, torch, torch.distributed as dist, torch.multiprocessing as mp

        def work(rank):
            for turn in range(2):
                dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting{turn}", rank=(rank + turn) % 2, world_size=2)
                dist.new_group([0])
                (torch.ones(2) * rank).exp()
                dist.destroy_process_group()

        if __name__ == "__main__":
            mp.spawn(work, nprocs=2)
    """)
    for rank in (0, 1):
        assert {"Default/exp-op0", "Default/exp-op1"} <= operators(actual / f"rank_{rank}")
        assert states(actual / f"rank_{rank}") == {"opdump_status.json": "complete"}


@pytest.mark.parametrize("before", [False, True])
def test_a_program_that_becomes_another_one(tmp_path, before):
    actual, said = record(tmp_path, "actual", "before" if before else "", text="""
        import os, sys, torch

        if sys.argv[1:] == ["again"]:
            torch.ones(3).exp()
        else:
            if sys.argv[1] == "before":
                torch.ones(3).sin()
            try:
                os.execv("/no/such/program", ["program"])
            except OSError:
                os.execvp(sys.executable, [sys.executable, __file__, "again"])
    """)
    assert "cut short" not in said, said
    assert "Default/exp-op0" in operators(actual / "rank_0")
    assert states(actual / "rank_0") == ({"opdump_status.json": "idle", "opdump_status.main-2.json": "complete"} if before else
                                         {"opdump_status.json": "complete"})


@pytest.mark.skipif(not os.access(NEWEST, os.X_OK), reason="no torch from PyPI: tools/fetch_torch.sh")
def test_a_program_that_becomes_torchrun(tmp_path):
    actual, said = record(tmp_path, "actual", python=NEWEST, text="""
        import os, sys, torch, torch.distributed as dist

        if "RANK" not in os.environ:
            os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", __file__])
        dist.init_process_group("gloo")
        torch.nn.Linear(2, 3)(torch.ones(1, 2))
        dist.destroy_process_group()
    """)
    assert "cut short" not in said, said
    assert is_of_ranks(actual)
