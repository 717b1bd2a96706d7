"""op_debug_mode 4: the operator that throws has its inputs on the disk before the error reaches the program
(mindspore.md 6.3)."""

from importlib.metadata import version

import numpy as np
import pytest

FAILS = """
    import glob, sys
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = torch.nn.Linear(3, 4)
            self.fc2 = torch.nn.Linear(5, 2)  # 4 would be right

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))

    net = Net()
    try:
        net(torch.ones(2, 3))
    except RuntimeError:
        inside = glob.glob({where!r} + "/**/*.npy", recursive=True)
        print(len(inside), "files before the program heard of it")
        raise
"""


def test_inputs_of_the_operator_that_throws(opdump):
    where = str(opdump.directory / "dump1")
    plain = opdump.plain(FAILS.format(where=where))
    dump = opdump.run(FAILS.format(where=where), expect=1, op_debug_mode=4, saved_data="tensor")
    assert dump.out == "3 files before the program heard of it\n"
    assert plain.stderr.splitlines()[-1] in dump.err, "the error is the program's own"
    assert set(dump.files()) == {("Default_fc2-Linear_addmm-op0", f"input.{i}") for i in range(3)}
    assert dump.tensor("Default/fc2-Linear/addmm-op0", "input.1").shape == (2, 4)
    assert dump.tensor("Default/fc2-Linear/addmm-op0", "input.2").shape == (5, 2)
    assert dump.status["state"] == "complete"


def test_a_run_without_an_error_saves_nothing(opdump):
    dump = opdump.run("import torch\ntorch.ones(3).neg()\n", op_debug_mode=4, saved_data="tensor")
    assert not list(dump.path.rglob("*.npy"))


def test_an_error_that_is_caught(opdump):
    dump = opdump.run("""
        import torch
        values = torch.zeros(4)
        for _ in range(2):
            try:
                torch.ones(2, 3).mm(torch.full((4, 5), 7.0))
            except RuntimeError as error:
                print("caught", error)
        print(values.add(1).sum().item())
    """, op_debug_mode=4, saved_data="tensor")
    assert dump.out.count("mat1 and mat2 shapes cannot be multiplied") == 2 and dump.out.endswith("4.0\n")
    assert set(dump.files()) == {(f"Default_mm-op{i}", f"input.{j}") for i in range(2) for j in range(2)}
    assert (dump.tensor("Default/mm-op1", "input.1") == 7).all()


@pytest.mark.parametrize("size", [8, 100_000])
def test_an_operator_that_writes_in_place_and_throws(opdump, size):
    """index_put_ has written its first rows when it meets an index that is out of range."""
    dump = opdump.run(f"""
        import torch
        values = torch.zeros({size}, 2)
        index = torch.tensor([0, 1, {size + 5}])
        try:
            values.index_add_(0, index, torch.ones(3, 2))
        except (RuntimeError, IndexError):
            print("caught", values.sum().item())
        values.fill_(9)
    """, op_debug_mode=4, saved_data="tensor")
    assert dump.out.startswith("caught")
    assert not dump.tensor("Default/index_add_-op0", "input.0").any(), "as it was before the call"
    assert dump.tensor("Default/index_add_-op0", "input.1").tolist() == [0, 1, size + 5]
    assert (dump.tensor("Default/index_add_-op0", "input.2") == 1).all()


def test_in_backward(opdump):
    dump = opdump.run("""
        import torch

        class Bad(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 2
            @staticmethod
            def backward(context, gradient):
                return gradient.mm(torch.ones(7, 7))

        x = torch.ones(2, 3, requires_grad=True)
        Bad.apply(x).sum().backward()
    """, expect=1, op_debug_mode=4, saved_data="tensor")
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 7x7)" in dump.err
    (name,) = {name for name, _ in dump.files()}
    assert name.startswith("Gradients_Default_mm-op")


def test_what_other_keys_say_is_overruled(opdump):
    dump = opdump.run("import torch\ntorch.ones(2, 3).mm(torch.ones(2, 3))\n", expect=1, op_debug_mode=4,
                      saved_data="full", iteration="5", input_output=2, dump_mode=1, kernels=["relu"],
                      e2e={"enable": True, "sample_mode": 1, "sample_num": 1})
    for key in ("dump_mode", "iteration", "sample_mode", "saved_data", "input_output"):
        assert f"{key} is read as" in dump.err, (key, dump.err)
    assert dump.tensor("Default/mm-op0", "input.0").shape == (2, 3)
    assert not list(dump.path.rglob("statistic.csv"))


def test_o2_has_the_data_in_the_tree(opdump):
    dump = opdump.run("import torch\ntorch.ones(2, 3).mm(torch.ones(2, 3))\n", expect=1, e2e=False, file_format="npy",
                      saved_data="tensor", op_debug_mode=4)
    assert (dump.path.parent / "acl_dump_0.json").read_text() == '{"dump":{"dump_scene":"lite_exception"}}'
    files = sorted(dump.path.parent.glob("0/*/0/net/0/0/mm.*.npy"))
    assert len(files) == 2 and np.load(files[0]).shape == (2, 3)


# What fails, the operator that is saved, and the shapes of its inputs.
RESHAPE = "view" if version("torch") >= "2" else "reshape"  # what fails in it
FAILURES = [
    ("x.view(7)", "view", [(2, 3)]),
    ("x.t().view(6)", "view", [(3, 2)]),
    ("x.reshape(7)", RESHAPE, [(2, 3)]),
    ("torch.reshape(x, (4, 4))", RESHAPE, [(2, 3)]),
    ("x[5]", "getitem", [(2, 3)]),
    ("x[0, 9]", "getitem", [(2, 3)]),
    ("x[torch.tensor([0, 7])]", "index", [(2, 3), (2,)]),
    ("x.__setitem__(4, torch.ones(1))", "setitem", [(2, 3), (1,)]),
    ("x.expand(5, 3)", "expand", [(2, 3)]),
    ("x.permute(0, 0)", "permute", [(2, 3)]),
    ("x.select(0, 9)", "select", [(2, 3)]),
    ("torch.linalg.inv(torch.zeros(3, 3))", "linalg_inv", [(3, 3)]),
    ("torch.linalg.solve(torch.zeros(3, 3), torch.ones(3))", "linalg_solve", [(3, 3), (3,)]),
    ("torch.linalg.cholesky(-torch.eye(2))", "linalg_cholesky", [(2, 2)]),
    ("torch.cat([x, torch.ones(2, 5, 5)])", "cat", [(2, 3), (2, 5, 5)]),
    ("torch.nn.functional.linear(x, torch.ones(4, 5))", "mm", [(2, 3), (5, 4)]),
    ("scripted(x)", "view", [(2, 3)]),
]


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    from conftest import Runner

    program = """
        import torch
        @torch.jit.script
        def scripted(x):
            return x.view(7)
        class Step(torch.nn.Module):
            def forward(self, what):
                eval(what, {"torch": torch, "x": torch.arange(6.).view(2, 3), "scripted": scripted})
        for number, what in enumerate(%r):
            model = type(f"Step{number}", (Step,), {})()
            try:
                model(what)
            except Exception as error:
                print(type(error).__name__)
    """ % [what for what, _, _ in FAILURES]
    dump = Runner(tmp_path_factory.mktemp("failures")).run(program, op_debug_mode=4, saved_data="tensor")
    assert len(dump.out.splitlines()) == len(FAILURES), "each of them fails, as without us"
    return dump


def saved(dump, number):
    """{operator: its inputs} of a step."""
    found = {}
    for step in dump.steps():
        for (name, slot), path in sorted(dump.files(step).items()):
            if name.startswith(f"Default_Step{number}_"):
                found.setdefault(name.rpartition("-op")[0].removeprefix(f"Default_Step{number}_"), []).append(np.load(path))
    return found


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=[what for what, _, _ in FAILURES])
def test_whatever_fails_is_saved(failures, number):
    _, operator, shapes = FAILURES[number]
    operators = saved(failures, number)
    assert [array.shape for array in operators[operator]] == shapes, operators
    others = set(operators) - {operator}
    assert others <= {"_linalg_check_errors", "linalg_inv_ex"}, "what only says that it failed"
    assert failures.status["state"] == "complete"
