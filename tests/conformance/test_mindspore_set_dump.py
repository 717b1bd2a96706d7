"""dump_mode 2 and opdump.set_dump (mindspore.md 7)."""

import pytest

NET = """
    import opdump, torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4))
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.block(x))

    net = Net()
    {before}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        {after}
"""


def scopes(dump, step=0):
    """The scopes of what was dumped, without operator names."""
    names = {name.rpartition("/")[0] for name in dump.operators}
    return names if step in dump.steps() else set()


def run(opdump, before="", after="", **settings):
    return opdump.run(NET.format(before=before, after=after), dump_mode=2, **settings)


def test_a_module_with_what_is_below_and_its_gradients(opdump):
    dump = run(opdump, "opdump.set_dump(net.block)")
    block = {"Default/block-Sequential/0-Linear", "Default/block-Sequential/1-ReLU", "Default/block-Sequential/2-Linear"}
    assert scopes(dump) == block | {f"Gradients/{scope}" for scope in block}
    assert dump.steps() == [0, 1]


def test_a_part_is_taken_out_again(opdump):
    dump = run(opdump, "opdump.set_dump(net.block); opdump.set_dump(net.block[2], enabled=False)")
    assert not any("2-Linear" in scope for scope in scopes(dump))
    assert "Default/block-Sequential/0-Linear" in scopes(dump)


def test_the_whole_model_is_not_its_optimizer(opdump):
    dump = run(opdump, "opdump.set_dump(net)")
    assert "Default/head-Linear" in scopes(dump) and "Gradients/Default/head-Linear" in scopes(dump)
    assert not any("optimizer" in scope for scope in scopes(dump))


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_operator_by_name(opdump, when):
    call = "opdump.set_dump('Default/head-Linear/addmm-op0')"
    dump = run(opdump, **{when: call})
    assert {name for name in dump.operators if not name.startswith("Gradients/")} == {"Default/head-Linear/addmm-op0"}
    assert dump.steps() == ([0, 1] if when == "before" else [1]), "flags hold from then on"


def test_a_module_after_the_first_step(opdump):
    dump = run(opdump, after="opdump.set_dump(net.head)")
    assert scopes(dump, 1) == {"Default/head-Linear", "Gradients/Default/head-Linear"}
    assert dump.steps() == [1]


def test_a_scope_by_name(opdump):
    dump = run(opdump, "opdump.set_dump('Default/block-Sequential'); opdump.set_dump('Default/block-Sequential/0-Linear', False)")
    assert {s for s in scopes(dump) if not s.startswith("Gradients")} == {
        "Default/block-Sequential/1-ReLU", "Default/block-Sequential/2-Linear"}


@pytest.mark.parametrize("target", ["torch.relu", "nn.functional.relu", "torch.Tensor.relu_", "torch.ops.aten.relu.default", "'ReLU'"])
def test_a_primitive(opdump, target):
    dump = run(opdump, f"opdump.set_dump({target})")
    assert set(dump.operators) == {"Default/block-Sequential/1-ReLU/relu-op0"}, dump.err


def test_a_primitive_is_taken_out_of_a_module(opdump):
    dump = run(opdump, "opdump.set_dump(net.block); opdump.set_dump('ReLU', enabled=False)")
    assert {s for s in scopes(dump) if not s.startswith("Gradients")} == {
        "Default/block-Sequential/0-Linear", "Default/block-Sequential/2-Linear"}


def test_a_primitive_that_does_not_run(opdump):
    dump = run(opdump, "opdump.set_dump(torch.lerp); opdump.set_dump(torch.relu)")
    assert "no operator matched 'lerp' of set_dump()" in dump.err and "'relu'" not in dump.err


def test_nothing_flagged_is_said(opdump):
    dump = run(opdump)
    assert "no operator was flagged: dump_mode 2 records what set_dump() names" in dump.err
    assert not dump.files() if dump.steps() else True


def test_without_dump_mode_2_it_changes_nothing(opdump):
    dump = opdump.run(NET.format(before="opdump.set_dump(net.head)", after=""), iteration="0")
    assert "Default/block-Sequential/0-Linear" in scopes(dump)


@pytest.mark.parametrize("mode", ["o2", "cpu", "gpu"])
def test_every_mode(opdump, mode):
    settings = {"e2e": False, "file_format": "npy"} if mode == "o2" else {}
    dump = run(opdump, "opdump.set_dump(net.head)", mode=mode, **settings)
    assert {name.rpartition("/")[0] for name in dump.operators} <= {
        "Default/head-Linear", "Gradients/Default/head-Linear", ""}
    assert list(dump.path.parent.rglob("addmm.Default_head-Linear_addmm-op0.*.npy"))


def test_argument_checks(opdump):
    done = opdump.plain("""
        import opdump, torch
        for arguments in [(3,), (len,), (torch.nn.ReLU,), (torch.nn.Linear(1, 1), 1), ("Default/x", None)]:
            try:
                opdump.set_dump(*arguments)
            except ValueError as error:
                print(error)
        opdump.set_dump(torch.nn.Linear(1, 1))          # nothing is being recorded: no error
        opdump.set_dump("Default/x", enabled=False)
    """, env={"PYTHONPATH": str(opdump.package)})
    assert done.returncode == 0, done.stderr
    target = ('The "target" parameter must be an instance of torch.nn.Module, a function of torch or the name of an '
              "operator, but got an instance of ")
    assert done.stdout.splitlines() == [
        target + "<class 'int'>.", target + "<class 'builtin_function_or_method'>.", target + "<class 'type'>.",
        'The "enabled" parameter must be bool.', 'The "enabled" parameter must be bool.']


def test_a_part_of_a_program(opdump):
    """opdump.start in the program; what was flagged before stays flagged."""
    config = opdump.config(dump_mode=2)
    done = opdump.plain(f"""
        import opdump, torch
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        opdump.set_dump(net[1])
        opdump.start({str(config)!r})
        net(torch.ones(1, 3))
        assert opdump.stop()
    """, env={"PYTHONPATH": str(opdump.package)})
    assert done.returncode == 0, done.stderr
    assert {p.name.split(".")[1] for p in (opdump.directory / "dump0").rglob("*.npy")} == {"Default_1-Linear_addmm-op0"}


AROUND = """
    import opdump, torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 4)

        def forward(self, x):
            return torch.tanh(nn.Softplus()(self.fc(x).neg()))   # a module that is made on the way

    net = Net()
    {before}
    for step in range(2):
        x = torch.ones(2, 3).exp().neg()
        loss = nn.MSELoss()(net(x), torch.zeros(2, 4)).sigmoid()
        loss.backward()
        {after}
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_model_is_not_the_program_around_it(opdump, when):
    dump = opdump.run(AROUND.format(**{"before": "", "after": "", when: "opdump.set_dump(net)"}), dump_mode=2)
    assert dump.steps() == ([0, 1] if when == "before" else [1])
    forward = {name for name in dump.operators if not name.startswith("Gradients/")}
    assert forward == {"Default/fc-Linear/addmm-op0", "Default/fc-Linear/t-op0", "Default/neg-op1", "Default/tanh-op0",
                       "Default/Softplus/softplus-op0"}
    types = {name.rpartition("/")[2] for name in dump.operators if name.startswith("Gradients/")}
    assert {"tanh_backward-op0", "softplus_backward-op0"} <= types
    assert not types & {"sigmoid_backward-op0", "mse_loss_backward-op0"}, "the loss is no part of the net"


def test_names_go_before_modules(opdump):
    dump = opdump.run(AROUND.format(before="opdump.set_dump('Default/tanh-op0', False); opdump.set_dump(net)", after=""),
                      dump_mode=2)
    assert "Default/tanh-op0" not in dump.operators and "Default/neg-op1" in dump.operators


def test_a_name_that_fits_nothing_is_said(opdump):
    dump = run(opdump, "opdump.set_dump('Default/head'); opdump.set_dump(net.head)")
    (line,) = [line for line in dump.err.splitlines() if "no operator matched" in line]
    assert line.startswith("opdump: no operator matched 'Default/head' of set_dump(); nearest: Default/head-Linear")
