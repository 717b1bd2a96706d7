"""What the tests of opdump blame share: a program, a fault in it, and two recordings."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])

# Two steps of a network; the parts that a test changes are in braces.
PROGRAM = """
    import sys, warnings
    import torch
    import torch.nn.functional as F

    warnings.simplefilter("ignore")
    torch.manual_seed(3)
    {before}

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.norm, self.b = torch.nn.Linear(24, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 8)

        def forward(self, x):
            x = F.relu(self.norm(self.a(x)))
            {between}
            return self.b(torch.tanh(x) * {factor})

    net = Net()
    {weights}
    update = torch.optim.Adam(net.parameters(), lr=1e-3, foreach=False)
    data = [torch.randn(32, 24) for _ in range(2)]
    for x in data:
        update.zero_grad()
        net(x.to(net.b.weight.dtype)).pow(2).mean().backward()
        update.step()
"""

# The kernel of an operator gives a wrong result at its call number `at`: below what opdump sees.
FAULT = """
    calls = [0]
    library = torch.library.Library("aten", "IMPL")

    def wrong({arguments}):
        calls[0] += 1
        result = {right}
        if calls[0] == {at} + 1:
            {fault}
        return result

    library.impl("{operator}", wrong, "CPU")
"""


def program(before="", between="pass", weights="", factor=4):
    text = textwrap.dedent(PROGRAM)
    return text.format(before=textwrap.dedent(before), between=between, weights=weights, factor=factor)


def fault(operator, arguments, right, wrong, at=0):
    return FAULT.format(operator=operator, arguments=arguments, right=right, fault=wrong, at=at)


class Pair:
    def __init__(self, directory):
        self.directory = directory

    def record(self, name, text, env=None, options=(), steps="all"):
        script = self.directory / "train.py"
        script.write_text(text)
        done = subprocess.run([OPDUMP, "run", "-o", name, "--steps", steps, *options, "--", sys.executable, "train.py"], cwd=self.directory,
                              capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=600)
        assert done.returncode == 0, done.stderr
        self.log = done.stderr
        return name

    def run(self, *arguments):
        return subprocess.run([OPDUMP, *arguments, "--python", sys.executable], cwd=self.directory, capture_output=True, text=True,
                              timeout=600)

    def blame(self, golden, actual, expect):
        done = self.run("blame", golden, actual, "--json")
        assert done.returncode == expect, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        assert answer["schema_version"] == 1
        return answer

    def culprit(self, golden, actual):
        return self.blame(golden, actual, 1)["findings"][0]


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)
