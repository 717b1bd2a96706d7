"""What processes do together is recorded when it is done, and what is not done is no value."""

import subprocess

import numpy as np
import pytest

from conftest import OPDUMP, Dump, Runner

PROGRAM = """
    import os, sys, numpy as np, torch, torch.distributed as dist

    rank, meeting = int(os.environ["RANK"]), os.environ["MEETING"]
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
    torch.manual_seed(rank)
    kept = {}
    def keep(name, tensor):
        kept[name] = tensor.detach().clone().numpy()
    def large():
        return torch.randn(500, 500)

    for i in range(6):                                   # blocking: what comes next reads the sum
        t = large()
        keep(f"mine{i}", t)
        dist.all_reduce(t)
        t.sin()
        keep(f"sum{i}", t)
    tensors = [large() for _ in range(3)]                # while others go on
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    large().cos()
    for i, (t, work) in enumerate(zip(tensors, works)):
        work.wait()
        t.sin()
        keep(f"sum{6 + i}", t)
    t = large()
    dist.broadcast(t, 1)
    keep("broadcast", t)
    parts = [torch.empty(500, 500) for _ in range(2)]
    dist.all_gather(parts, large())
    keep("gathered0", parts[0]); keep("gathered1", parts[1])
    got, mine = torch.empty(500, 500), large()
    receive = dist.irecv(got, 1 - rank)                  # both receive before they send: whoever waited here
    send = dist.isend(mine, 1 - rank)                    # would wait for ever
    receive.wait(); send.wait()
    got.tan()
    keep("received", got)
    if rank == 0: dist.send(mine, 1)
    else: dist.recv(got, 0)
    dist.barrier()
    split = torch.empty(2, 40000)
    dist.all_to_all_single(split, large()[:160].reshape(2, 40000))   # no operator, and nobody says where it writes
    split.exp()
    keep("split", split)
    try:
        dist.reduce_scatter(got, [large(), large()])
        keep("scattered", got)
        got.cosh()
        more = [torch.empty(20000) for _ in range(2)]    # while others go on
        works = [dist.reduce_scatter_tensor(t, large()[:80].reshape(-1), async_op=True) for t in more]
        large().sinh()
        for i, (t, work) in enumerate(zip(more, works)):
            work.wait()
            t.asinh()
            keep(f"scattered{i}", t)
    except RuntimeError:
        print("gloo has no reduce_scatter")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(300, 300))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 300)).square().sum().backward()
        keep(f"gradient{step}", model.module.weight.grad)
        optimizer.step()
        keep(f"weight{step}", model.module.weight)
    np.savez(meeting + f".rank{rank}.npz", **kept)
"""


def run_ranks(opdump, meeting, program=PROGRAM, **settings):
    """Both ranks at once; their dumps."""
    config, dump = opdump.config(**settings), opdump.directory / f"dump{opdump.runs}"
    started = [opdump.start(program, env={"RANK": str(rank), "MEETING": str(meeting)}, config=config)[0] for rank in range(2)]
    for rank, process in enumerate(started):
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, f"rank {rank}: exit {process.returncode}\n{out}\n{err}"
    return [Dump(dump / f"rank_{rank}") for rank in range(2)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp("collectives"))
    runs = []
    for i in range(2):
        dumps = run_ranks(runner, runner.directory / f"meeting{i}", saved_data="tensor")
        for rank, dump in enumerate(dumps):
            dump.kept = np.load(runner.directory / f"meeting{i}.rank{rank}.npz")
        runs.append(dumps)
    return runs


def steps_of(dump, name, slot):
    for step in dump.steps():
        if (name.replace("/", "_"), slot) in dump.files(step):
            yield step


def expect(dump, name, slot, kept):
    step = next(steps_of(dump, name, slot))
    np.testing.assert_array_equal(dump.tensor(name, slot, step), dump.kept[kept], err_msg=f"{name} {slot}, {kept}")


def has_all_to_all(dump):
    """Newer torch has an operator for it."""
    return any("alltoall" in name for name in dump.operators)


@pytest.mark.parametrize("rank", [0, 1])
def test_values_are_those_after_the_work(runs, rank):
    dump = runs[0][rank]
    for i in range(6):
        expect(dump, f"Default/c10d_allreduce_-op{i}", "input.0", f"mine{i}")
    for i in range(9):
        expect(dump, f"Default/c10d_allreduce_-op{i}", "output.0", f"sum{i}")
        expect(dump, f"Default/sin-op{i}", "input.0", f"sum{i}")
    expect(dump, "Default/c10d_broadcast_-op0", "output.0", "broadcast")
    expect(dump, "Default/c10d_allgather_-op0", "output.0", "gathered0")
    expect(dump, "Default/c10d_allgather_-op0", "output.1", "gathered1")
    expect(dump, "Default/c10d_recv_-op0", "output.0", "received")
    expect(dump, "Default/tan-op0", "input.0", "received")
    expect(dump, "Default/exp-op0", "input.0", "split")
    if "scattered" in dump.kept:
        expect(dump, "Default/c10d_reduce_scatter_-op0", "output.0", "scattered")
        expect(dump, "Default/cosh-op0", "input.0", "scattered")
        for i in range(2):
            expect(dump, f"Default/c10d__reduce_scatter_base_-op{i}", "output.0", f"scattered{i}")
            expect(dump, f"Default/asinh-op{i}", "input.0", f"scattered{i}")
    losses = [loss["what"] for loss in dump.status["losses"]]
    assert losses == ([] if has_all_to_all(dump) else ["gloo:all_to_all"]), dump.status


@pytest.mark.parametrize("rank", [0, 1])
def test_buckets_of_gradients(runs, rank):
    dump = runs[0][rank]
    found = [n for n, o in dump.operators.items() if o["type"] == "c10d_allreduce_" and o["phase"] == "backward"]
    np.testing.assert_array_equal(runs[0][0].kept["gradient2"], runs[0][1].kept["gradient2"])
    values = [np.load(path) for step in dump.steps() for (name, slot), path in dump.files(step).items()
              if "optimizer-SGD" in name and slot.startswith("input")]
    for step in range(3):
        assert any(v.shape == (300, 300) and (v == dump.kept[f"gradient{step}"]).all() for v in values), step
        # The bucket: the bias and the weight, each flat.
    reduced = [dump.tensor(found[0], "output.0", step) for step in steps_of(dump, found[0], "output.0")]
    assert any(np.isin(dump.kept["gradient1"].ravel(), r.ravel()).all() for r in reduced)


def test_two_runs_are_alike(runs):
    done = subprocess.run([OPDUMP, "compare", runs[0][0].path.parent, runs[1][0].path.parent], capture_output=True, text=True)
    is_whole = has_all_to_all(runs[0][0])
    assert done.returncode == (0 if is_whole else 3), done.stdout + done.stderr
    assert ("no difference:" if is_whole else "no difference found") in done.stdout


def test_what_nobody_waits_for_is_a_loss(opdump, tmp_path):
    dump, _ = run_ranks(opdump, tmp_path / "meeting", """
        import os, time, torch, torch.distributed as dist, opdump
        rank = int(os.environ["RANK"])
        dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING"], rank=rank, world_size=2)
        t = torch.ones(300, 300)
        if rank == 1:
            time.sleep(2)                # the other one has gone on long since
        work = dist.all_reduce(t, async_op=True)
        opdump.step()
        work.wait()
        t.sin()
    """)
    assert dump.undumped("Default/c10d_allreduce_-op0") == {"output.0": "not finished when the step ended"}
    listed = subprocess.run([OPDUMP, "ls", dump.path], capture_output=True, text=True).stdout
    assert "float32 (300,300), no data: not finished when the step ended" in listed
    assert any("not finished when the step ended" in str(loss) for loss in dump.status["losses"])
    assert (dump.tensor("Default/sin-op0", "input.0", 1) == 2).all()


def test_a_callback_runs_in_a_thread_of_gloo(opdump, tmp_path):
    program = """
        import os, numpy as np, torch, torch.distributed as dist
        rank, meeting = int(os.environ["RANK"]), os.environ["MEETING"]
        dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
        torch.manual_seed(rank)

        def hook(state, bucket):
            half = bucket.buffer().to(torch.float16)
            return dist.all_reduce(half, async_op=True).get_future().then(lambda f: bucket.buffer().copy_(f.value()[0]).mul_(0.5))

        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(300, 300, bias=False))
        model.register_comm_hook(None, hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 300)).square().sum().backward()
            np.save(f"{meeting}.rank{rank}.{step}.npy", model.module.weight.grad.numpy().copy())
            optimizer.step()
    """
    folders = []
    for i in range(2):
        dumps = run_ranks(opdump, tmp_path / f"meeting{i}", program, saved_data="tensor")
        folders.append(dumps[0].path.parent)
    for step in range(3):
        expected = np.load(tmp_path / f"meeting1.rank0.{step}.npy").ravel()
        np.testing.assert_array_equal(dumps[0].tensor("Gradients/Default/AccumulateGrad/mul_-op0", "output.0", step), expected)
    done = subprocess.run([OPDUMP, "compare", *folders], capture_output=True, text=True)
    assert done.returncode == 0 and "only in" not in done.stdout, done.stdout + done.stderr
