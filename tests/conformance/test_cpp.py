"""A libtorch program without Python, preloaded and linked (tests/conformance/cpp)."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import BUILD, Dump

PROGRAMS = pathlib.Path(os.environ.get("OPDUMP_TRAIN", ""))
LIBRARY = BUILD / "lib/libopdump_torch.so"

pytestmark = pytest.mark.skipif("OPDUMP_TRAIN" not in os.environ, reason="OPDUMP_TRAIN names no directory of programs")


def run(opdump, command, config=None, preload=True, mode=None):
    env = {k: v for k, v in os.environ.items() if k not in ("OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG", "LD_PRELOAD")}
    if config:
        env["MINDSPORE_DUMP_CONFIG"] = str(config)
        env.update({"OPDUMP_MODE": mode} if mode else {})
        if preload:
            env["LD_PRELOAD"] = str(LIBRARY)
    return subprocess.run([str(c) for c in command], cwd=opdump.directory, capture_output=True, text=True, timeout=240, env=env)


def record(opdump, command, expect=0, preload=True, mode=None, **settings):
    done = run(opdump, command, opdump.config(**settings), preload, mode)
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    dump = Dump(opdump.directory / f"dump{opdump.runs}/rank_0")
    dump.out, dump.err = done.stdout, done.stderr
    return dump


def phases(dump):
    found = {}
    for operator in dump.operators.values():
        found.setdefault(operator["phase"], set()).add(operator["type"])
    return found


def test_a_preloaded_program_is_recorded_and_does_not_notice(opdump):
    plain = run(opdump, [PROGRAMS / "train_plain", 7])
    assert plain.returncode == 7 and len(plain.stdout.splitlines()) == 6, plain.stderr
    dump = record(opdump, [PROGRAMS / "train_plain", 7], expect=7)
    assert dump.out == plain.stdout
    assert dump.status["state"] == "complete" and dump.status["losses"] == []
    assert dump.status["runtime"].startswith("torch ")
    assert dump.steps() == [0, 1, 2]
    found = phases(dump)
    assert {"addmm", "tanh", "mse_loss", "mul_", "add_"} <= found["forward"]
    assert {"mm", "sum", "tanh_backward", "mse_loss_backward"} <= found["backward"]
    for step in dump.steps():
        names = [name for name, slot in dump.files(step) if slot == "output.0"]
        assert sum("mse_loss-op" in name for name in names) == 1, "one pass is one step"
        loss = dump.tensor("Default/mse_loss-op0", "output.0", step)
        assert float(loss).hex() == float.fromhex(dump.out.splitlines()[2 * step]).hex()


def test_operators_of_a_thread(opdump):
    dump = record(opdump, [PROGRAMS / "train_plain"])
    for step in dump.steps():
        erf = dump.tensor("Default/erf-op0", "output.0", step)
        total = float.fromhex(dump.out.splitlines()[2 * step + 1])
        assert erf.shape == (8, 4) and np.isclose(erf.sum(), total, rtol=1e-5)


@pytest.mark.parametrize("program", ["train_plain", "train_marked"])
def test_a_step_that_is_not_the_first(opdump, program):
    everything = record(opdump, [PROGRAMS / program])
    opdump.directory.joinpath("dump0").rename(opdump.directory / "all")
    everything.path = opdump.directory / "all/rank_0"
    dump = record(opdump, [PROGRAMS / program], iteration="1")
    assert dump.out == everything.out and dump.steps() == [1]
    assert set(dump.files(1)) == set(everything.files(1))
    for key, path in dump.files(1).items():
        assert np.array_equal(np.load(path), np.load(everything.files(1)[key]), equal_nan=True), key


def test_a_program_that_says_where_it_is(opdump):
    plain = run(opdump, [PROGRAMS / "train_marked", 3])
    assert plain.returncode == 3, plain.stderr
    dump = record(opdump, [PROGRAMS / "train_marked", 3], expect=3, preload=False)
    assert dump.out == plain.stdout
    assert dump.steps() == [0, 1, 2]
    assert {"Default/first-Linear/addmm-op0", "Default/first-Linear/tanh-op0", "Default/second-Linear/addmm-op0",
            "Default/mse_loss-op0", "Gradients/Default/first-Linear/tanh_backward-op0"} <= set(dump.operators)
    # The gradients are zeroed at the beginning of a step, and marked programs say where that is.
    assert [any("zero_" in name for name, _ in dump.files(step)) for step in dump.steps()] == [False, True, True]


def test_a_scope_that_the_program_flags(opdump, monkeypatch):
    monkeypatch.setenv("TRAIN_FLAGGED", "Default/second-Linear")
    dump = record(opdump, [PROGRAMS / "train_marked"], preload=False, dump_mode=2)
    names = set(dump.operators)
    assert "Default/second-Linear/addmm-op0" in names and "Gradients/Default/second-Linear/mm-op0" in names
    assert all("/second-Linear/" in name for name in names)
    assert dump.steps() == [0, 1, 2]


def test_overflow_exception_and_graphs_without_python(opdump):
    dump = record(opdump, [PROGRAMS / "train_plain"], mode="gpu", saved_data="tensor")
    order = (dump.path / "execution_order/ms_execution_order_graph_0.csv").read_text().splitlines()
    assert "Default/tanh-op0" in order and "Gradients/Default/tanh_backward-op0" in order
    for debug in (3, 4):
        opdump.runs += 1
        quiet = record(opdump, [PROGRAMS / "train_plain", 7], expect=7, op_debug_mode=debug)
        assert quiet.out == dump.out and not list(quiet.path.rglob("*.npy"))


def test_a_wrong_configuration_stops_before_main(opdump):
    config = opdump.config(dump_mode=9)
    for program, preload in (("train_plain", True), ("train_marked", False)):
        done = run(opdump, [PROGRAMS / program, 7], config, preload)
        assert done.returncode == 2 and done.stdout == "", program
        assert "data_dump.json:1:" in done.stderr and "dump_mode" in done.stderr
    done = run(opdump, [PROGRAMS / "train_plain"], opdump.directory / "missing.json")
    assert done.returncode == 2 and done.stdout == "" and "missing.json" in done.stderr


def test_commands_without_torch_are_left_alone(opdump):
    done = run(opdump, ["sh", "-c", "echo hello; exit 4"], opdump.config(dump_mode=9))
    assert (done.returncode, done.stdout, done.stderr) == (4, "hello\n", "")
    # A shell before the program and a command after it do not disturb its dump.
    dump = record(opdump, ["sh", "-c", f"'{PROGRAMS / 'train_plain'}' 7; code=$?; /bin/true; exit $code"], expect=7)
    assert dump.status["state"] == "complete" and dump.steps() == [0, 1, 2]
    assert "Default/addmm-op0" in dump.operators


def test_an_unused_library_is_silent(opdump):
    done = run(opdump, [PROGRAMS / "train_marked"])
    assert done.returncode == 0 and done.stderr == ""
    assert not list(opdump.directory.glob("dump*/"))
