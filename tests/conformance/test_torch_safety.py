"""The watched program must not notice: its numbers, its exit code, its life."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import BUILD, OPDUMP, Dump

TRAINING = """
    import hashlib, sys, torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Flatten(),
                          nn.Linear(8 * 36, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 1, 8, 8), torch.randint(4, (64,))),
                                         batch_size=16, shuffle=True, num_workers=2)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            print(loss.item().hex())
    state = b"".join(t.numpy().tobytes() for t in model.state_dict().values())
    print(hashlib.sha256(state).hexdigest(), hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest())
    sys.exit(5)
"""


@pytest.mark.parametrize("settings", [
    {"saved_data": "statistic"},
    {"saved_data": "tensor"},
    {"saved_data": "full", "iteration": "2-3"},
    {"saved_data": "full", "iteration": "1000"},
    {"saved_data": "statistic", "statistic_category": ["md5", "avg", "nan count", "max"]},
], ids=lambda s: "-".join(map(str, s.values()))[:40])
def test_numbers_random_state_and_exit_code_are_unchanged(opdump, settings):
    plain = opdump.plain(TRAINING)
    assert plain.returncode == 5, plain.stderr
    dump = opdump.run(TRAINING, expect=5, **settings)
    assert dump.out == plain.stdout
    assert dump.status["state"] == "complete"


def test_memory_limit_is_kept_and_nothing_is_dropped(opdump):
    dump = opdump.run("""
        import torch
        tensors = [torch.full((256, 1024), float(i)) for i in range(40)]
        for t in tensors:
            t.neg()
    """, env={"OPDUMP_MEMORY_LIMIT": "2M"})
    assert all((dump.tensor(f"Default/neg-op{i}", "output.0") == -i).all() for i in range(40))
    assert dump.status["state"] == "complete"


def test_a_wrong_configuration_stops_before_the_program_starts(opdump, tmp_path):
    config = opdump.config(dump_mode=9)
    dump = opdump.run("open('ran', 'w')", expect=2, config=config)
    assert "data_dump.json:1:" in dump.err and "dump_mode" in dump.err and dump.out == ""
    assert not (tmp_path / "ran").exists()
    dump = opdump.run("open('ran', 'w')", expect=2, config=tmp_path / "missing.json")
    assert "missing.json" in dump.err and len(dump.err.splitlines()) == 1
    dump = opdump.run("open('ran', 'w')", expect=2, op_debug_mode=5)
    assert "op_debug_mode" in dump.err
    config.write_text("{ not json")
    assert "data_dump.json:1:4" in opdump.run("open('ran', 'w')", expect=2, config=config).err
    assert not (tmp_path / "ran").exists()


def test_without_opdump_run_a_wrong_configuration_stops_the_import_of_torch(opdump):
    config = opdump.config(dump_mode=9)
    run = opdump.plain("import opdump\nimport torch\nprint('ran')",
                       env={"MINDSPORE_DUMP_CONFIG": str(config), "PYTHONPATH": str(BUILD / "python")})
    assert run.returncode == 2 and "dump_mode" in run.stderr and "ran" not in run.stdout


def test_import_opdump_is_enough(opdump):
    config = opdump.config()
    run = opdump.plain("import opdump, torch\ntorch.ones(2).neg()",
                       env={"MINDSPORE_DUMP_CONFIG": str(config), "PYTHONPATH": str(BUILD / "python")})
    assert run.returncode == 0, run.stderr
    dump = Dump(opdump.directory / "dump0/rank_0")
    assert dump.tensor("Default/neg-op0", "output.0").tolist() == [-1, -1]


def test_start_and_stop_in_the_program(opdump):
    config = opdump.config()
    run = opdump.plain(f"""
        import opdump, torch
        torch.ones(2).sin()
        opdump.start({str(config)!r})
        torch.ones(2).neg()
        assert opdump.active() and opdump.stop() and not opdump.active()
        torch.ones(2).cos()
        try:
            opdump.start("nonsense.json")
        except ValueError as e:
            print("refused", e)
    """, env={"PYTHONPATH": str(BUILD / "python")})
    assert run.returncode == 0 and "refused" in run.stdout, run.stderr
    types = {o["type"] for o in Dump(opdump.directory / "dump0/rank_0").operators.values()}
    assert "neg" in types and not types & {"sin", "cos"}


def test_a_program_without_torch(opdump):
    dump = opdump.run("print('hello'); raise SystemExit(3)", expect=3)
    assert dump.out == "hello\n" and "nothing was dumped" in dump.err
    assert not dump.path.exists()


def test_a_program_that_does_not_exist(opdump):
    run = subprocess.run([OPDUMP, "run", "--config", opdump.config(), "--", "no-such-program"], capture_output=True, text=True)
    assert run.returncode == 127 and "no-such-program" in run.stderr


def test_rank_of_the_environment(opdump):
    opdump.run("import torch; torch.ones(1).neg()", env={"RANK": "3"})
    assert (opdump.directory / "dump1/rank_3/net/0/0").is_dir()


LOOP = """
    import torch, sys, time
    model = torch.nn.Sequential(torch.nn.Linear(64, 64))
    for i in range({count}):
        model(torch.ones(64, 64))
        if i == {at}:
            print("now", flush=True)
            {action}
    print("done")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_program(opdump, number):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a program in the background inherits as ignored
    process, _ = opdump.start("""
        import os, signal, time, torch
        def leave(*_):
            os.write(1, b"caught\\n")  # the signal may come before print returns
            raise SystemExit(9)
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
        torch.ones(1).neg()
        print("ready", flush=True)
        time.sleep(60)
    """)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 9 and "caught" in out, err


def test_death_by_signal_is_passed_on(opdump):
    process, where = opdump.start(LOOP.format(count=5, at=3, action="import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    _, err = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert "cut short" in err
    assert Dump(where).status["state"] == "recording"


def test_a_crash_keeps_what_was_recorded(opdump):
    """Also lines of operators and rows of statistics, of which no more come to push them out."""
    process, where = opdump.start("""
        import ctypes, os, time, torch
        log = "dump1/rank_0/operators.jsonl"
        torch.ones(3).neg()
        while not (os.path.exists(log) and os.path.getsize(log)):  # until the first lines are written, not long before the next ones
            time.sleep(0.001)
        torch.ones(3).exp()
        time.sleep(0.3)
        ctypes.string_at(0)
    """)
    _, err = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGSEGV and "cut short" in err
    dump = Dump(where)
    assert {"Default/neg-op0", "Default/exp-op0"} <= set(dump.operators)
    assert {"Default_neg-op0", "Default_exp-op0"} <= set(dump.rows()["Op Name"])


def test_a_killed_recording_is_readable(opdump):
    process, where = opdump.start(LOOP.format(count=100000, at=200, action="pass"))
    assert process.stdout.readline() == "now\n"
    time.sleep(1.5)
    subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=True)
    process.communicate(timeout=60)
    dump = Dump(where)
    whole = [np.load(p) for step in dump.steps()[:20] for p in dump.files(step).values()]
    assert len(whole) > 50
    listing = subprocess.run([OPDUMP, "ls", where.parent], capture_output=True, text=True)
    assert listing.returncode in (0, 3) and "recording" in listing.stdout + listing.stderr


def test_a_directory_removed_during_the_run(opdump):
    dump = opdump.run(LOOP.format(count=400, at=50, action="import os; os.rename('dump1', 'elsewhere')"))
    assert dump.out.endswith("done\n")
    assert dump.err.count("recording stopped:") == 1, dump.err
    assert "nothing was lost" not in dump.err and dump.err.count("removed while recording") == 1


def test_an_unwritable_directory(opdump, tmp_path):
    (tmp_path / "file").write_text("")
    dump = opdump.run("import torch; torch.ones(1).neg(); print('done')", path=str(tmp_path / "file/dump"))
    assert dump.out == "done\n" and "nothing is recorded" in dump.err and str(tmp_path / "file") in dump.err
    assert "did not import torch" not in dump.err


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk(opdump, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("mount is not allowed here")
    try:
        dump = opdump.run(LOOP.format(count=300, at=1, action="pass"), path=str(small / "dump"))
        assert dump.out.endswith("done\n")
        assert dump.err.count("recording stopped:") == 1 and "No space left" in dump.err
        for path in (small / "dump/rank_0/net/0").rglob("*.npy"):
            if path.stat().st_size:
                with open(path, "rb") as file:
                    assert file.read(6) == b"\x93NUMPY"
        # Space for the last word is found if the tree leaves any.
        status = small / "dump/rank_0/opdump_status.json"
        assert json.loads(status.read_text())["state"] in ("recording", "incomplete")
    finally:
        subprocess.run(["umount", small], check=True)


def test_children_without_torch_pay_nothing(opdump):
    dump = opdump.run("""
        import subprocess, sys, torch
        torch.ones(1).neg()
        code = "import sys; print(sorted(m for m in sys.modules if 'torch' in m or m.startswith('opdump')))"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
    """)
    assert dump.out.strip() == "['opdump', 'opdump._frames', 'opdump._imports', 'opdump._on_import', 'opdump._stderr']"


def test_a_raising_operator(opdump):
    dump = opdump.run("""
        import torch
        try:
            torch.ones(2, 3).mm(torch.ones(2, 3))
        except RuntimeError as error:
            print("raised")
        torch.ones(2).neg()
    """)
    assert dump.out == "raised\n"
    assert dump.tensor("Default/mm-op0", "input.1").shape == (2, 3)
    assert ("Default_mm-op0", "output.0") not in dump.files()


def test_an_exception_inside_modules_keeps_scopes_straight(opdump):
    dump = opdump.run("""
        import torch
        class Inner(torch.nn.Module):
            def forward(self, x):
                raise ValueError
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x):
                try:
                    self.inner(x)
                except ValueError:
                    pass
                return x.neg()
        Net()(torch.ones(2))
        torch.ones(2).sin()
    """)
    assert {"Default/neg-op0", "Default/sin-op0"} <= set(dump.operators)


def test_nested_backward_and_checkpoint(opdump):
    program = """
        import torch
        from torch.utils.checkpoint import checkpoint
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
        x = torch.randn(2, 3, requires_grad=True)
        y = checkpoint(net, x).sum()
        g, = torch.autograd.grad(torch.nn.functional.linear(x, net[0].weight).tanh().sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        y.backward()
        print(x.grad.sum().item().hex())
    """
    plain = opdump.plain(program)
    dump = opdump.run(program)
    assert dump.out == plain.stdout
    assert any(o["phase"] == "backward" for o in dump.operators.values())


def test_forks_do_not_deadlock(opdump):
    import torch

    # A fork of a process with threads of OpenMP hangs in newer torch by itself.
    threads = {} if torch.__version__.startswith("1.") else {"OMP_NUM_THREADS": "1"}
    dump = opdump.run("""
        import os, torch, multiprocessing
        torch.ones(300, 300).neg()
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                torch.ones(300, 300).neg()
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        def child(): torch.ones(3).sin()
        p = multiprocessing.get_context("fork").Process(target=child, name="helper")
        p.start(); p.join(); assert p.exitcode == 0
        torch.ones(300, 300).cos()
    """, env=threads)
    assert dump.status["state"] == "complete"
    assert "Default/helper/sin-op0" in dump.operators and "Default/cos-op0" in dump.operators


def test_whatever_else_is_done_with_modules_still_works(opdump):
    program = """
        import copy, inspect, pickle, torch, torch.fx
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(3, 3)
            def forward(self, x):
                return torch.relu(self.a(x))

        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.exp()
            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0].exp()

        def child(i):
            torch.ones(2).neg()

        if __name__ == "__main__":
            torch.manual_seed(0)
            net, x = Net(), torch.randn(2, 3)
            for version in (torch.fx.symbolic_trace(net), torch.jit.trace(net, x), torch.jit.script(net), copy.deepcopy(net),
                            pickle.loads(pickle.dumps(net))):
                print(version(x).sum().item().hex())
            print(inspect.signature(net.__call__), nn.Module.__call__.__name__)
            nn.LSTM(3, 4)(x.unsqueeze(0))[0].sum().backward()
            y = torch.randn(3, requires_grad=True)
            Exp.apply(y).sum().backward()
            optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
            def closure():
                optimizer.zero_grad()
                loss = net(x).square().sum()
                loss.backward()
                return loss
            print(optimizer.step(closure).item().hex())
            torch.multiprocessing.spawn(child, nprocs=2)
    """
    plain = opdump.plain(program)
    assert plain.returncode == 0, plain.stderr
    dump = opdump.run(program)
    assert dump.out == plain.stdout
    names = dump.operators
    assert "Default/a-Linear/addmm-op0" in names and "Gradients/Default/exp-op0" in names
    assert any(n.startswith("Default/optimizer-LBFGS/") for n in names)
    assert {"Default/SpawnProcess-1/neg-op0", "Default/SpawnProcess-2/neg-op0"} <= set(names)
    assert dump.status["state"] == "complete"
