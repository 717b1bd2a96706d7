"""The calls that led to an operator: which line is the program's, and how an operator is found by the others."""

import json
import subprocess

import pytest

from conftest import OPDUMP, Runner

PACKAGE = "import torch\n\ndef scale(x, function):\n    return function(x * 2)\n"
HELPER = "import torch\n\ndef shifted(x):\n    return x + 1\n"
PROGRAM = """
    import sys
    sys.path[:0] = ["site-packages"]
    import torch
    from torch import nn
    import library
    from helper import shifted

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 4)

        def forward(self, x):
            x = self.fc(x)
            x = shifted(x)
            return library.scale(x, lambda y: y.neg())

    @torch.jit.script
    def inner(x):
        return x.cos()

    @torch.jit.script
    def scripted(x):
        y = inner(x)
        return y

    net = Net()
    def step():
        net(torch.ones(2, 3)).sum().backward()
    step()
    scripted(torch.ones(2))
    def down(depth):
        return torch.ones(1).sin() if depth == 0 else down(depth - 1)
    down(200)
"""


def line_of(text):
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp("stack"))
    (runner.directory / "site-packages").mkdir()
    (runner.directory / "site-packages/library.py").write_text(PACKAGE)
    (runner.directory / "helper.py").write_text(HELPER)
    return runner.run(PROGRAM, saved_data="statistic")


def source(operator):
    return f"{operator['source_file']}:{operator['source_line']}"


def frames(dump, name):
    """What the program has of the stack of an operator."""
    return [frame.removeprefix("program.py:") for frame in dump.operators[name]["stack"]]


@pytest.fixture(scope="module")
def calls():
    return [f"{line_of('net(torch.ones')}:step", f"{line_of('    step()')}:<module>"]


def test_a_layer(dump, calls):
    assert frames(dump, "Default/fc-Linear/addmm-op0") == [f"{line_of('self.fc(x)')}:Net.forward", *calls]
    assert source(dump.operators["Default/fc-Linear/addmm-op0"]) == f"program.py:{line_of('self.fc(x)')}"


def test_a_helper_of_the_program_is_its_code(dump, calls):
    assert frames(dump, "Default/add-op0") == ["helper.py:4:shifted", f"{line_of('shifted(x)')}:Net.forward", *calls]
    assert source(dump.operators["Default/add-op0"]) == "helper.py:4"


def test_a_line_of_a_library_is_not(dump, calls):
    here = line_of("library.scale")
    assert frames(dump, "Default/mul-op0") == ["site-packages/library.py:4:scale", f"{here}:Net.forward", *calls]
    assert source(dump.operators["Default/mul-op0"]) == f"program.py:{here}"
    assert frames(dump, "Default/neg-op0")[0] == f"{here}:Net.forward.<locals>.<lambda>", "called back by the library"


def test_backward_operators_have_the_calls_of_the_forward_one(dump):
    gradient = next(name for name in dump.operators if name.startswith("Gradients/Default/fc-Linear/mm-op"))
    assert dump.operators[gradient]["stack"] == dump.operators["Default/fc-Linear/addmm-op0"]["stack"]


def test_torchscript(dump):
    assert frames(dump, "Default/cos-op0") == [
        f"{line_of('x.cos()')}:inner", f"{line_of('y = inner(x)')}:scripted", f"{line_of('scripted(torch')}:<module>"]


def test_a_deep_recursion_is_cut(dump):
    assert len(frames(dump, "Default/sin-op0")) == 64


def opdump(*arguments):
    return subprocess.run([OPDUMP, *arguments], capture_output=True, text=True, check=True).stdout


def test_show_lists_the_calls(dump):
    text = opdump("show", dump.path.parent, "Default/add-op0")
    assert "\n  stack   helper.py:4  shifted\n          program.py:" in text and "<module>\n" in text
    record = json.loads(opdump("show", dump.path.parent, "Default/add-op0", "--json").splitlines()[0])
    assert record["stack"] == dump.operators["Default/add-op0"]["stack"]


@pytest.mark.parametrize("text", ["shifted(x)", "net(torch.ones", "    step()"])
def test_ir_finds_an_operator_by_any_of_its_calls(dump, text):
    found = opdump("ir", dump.path.parent, "--source", f"program.py:{line_of(text)}")
    assert "  Default/add-op0  (add)\n" in found and "helper.py:4  return x + 1\n" in found
    assert ("  Default/fc-Linear/addmm-op0  (addmm)\n" in found) == (text != "shifted(x)")
    assert "Default/add-op0" in opdump("ir", dump.path.parent, "--source", "helper.py:4")
    assert "Default/mul-op0" in opdump("ir", dump.path.parent, "--source", "library.py:4")


def test_a_name_stands_for_another_line_in_a_later_step(tmp_path):
    dump = Runner(tmp_path).run("""
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        kept = net.weight.detach().clone()  # before the first step
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            before = kept if step == 0 else kept.clone()  # in steps 2 and on
    """, saved_data="tensor")
    shown = [opdump("show", dump.path.parent, "Default/clone-op0", "--step", step) for step in ("0", "2")]
    assert "program.py:5" in shown[0] and "program.py:10" in shown[1]
    converted = tmp_path / "converted"
    opdump("convert", dump.path.parent, "-o", converted, "--to", "npy")
    assert "program.py:10" in opdump("show", converted, "Default/clone-op0", "--step", "2")


def test_a_module_that_branches_has_other_lines_in_a_later_step(tmp_path):
    dump = Runner(tmp_path).run("""
        import torch
        class Cache(torch.nn.Module):
            def forward(self, x):
                if len(x) > 1:
                    x = x.cos()
                return x.cos() + 1
        net = Cache()
        for rows in (2, 1):
            net(torch.ones(rows, 3))
    """, saved_data="tensor")
    shown = [opdump("show", dump.path.parent, "Default/Cache/cos-op0", "--step", step) for step in ("0", "1")]
    assert "program.py:6 " in shown[0].replace("\n", " \n") and "program.py:7 " in shown[1].replace("\n", " \n"), shown
