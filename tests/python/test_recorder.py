"""The recorder as it is built where a package brings none, with the sources of the package and the headers of the system's torch: those of
Debian's libtorch-dev are links. tests/torch2/test_adapter.py does so with a torch of PyPI."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ["OPDUMP_BIN"]).parent.parent
PROGRAM = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = torch.nn.functional.cross_entropy(net(torch.randn(4, 1, 6, 6)), torch.tensor([0, 1, 2, 3]))
loss.backward()
optimizer.step()
print(loss.item())
"""


def test_it_is_built_here_and_records_as_the_one_of_the_build(tmp_path):
    compiler = next((name for name in ("g++", "clang++") if shutil.which(name)), None)
    if compiler is None:
        pytest.skip("no compiler for the recorder")
    package = tmp_path / "package"
    (package / "bin").mkdir(parents=True)
    shutil.copy(os.environ["OPDUMP_BIN"], package / "bin")
    (package / "lib").symlink_to(BUILD / "lib")
    shutil.copytree(BUILD / "python/opdump", package / "python/opdump", ignore=shutil.ignore_patterns("adapters", "prebuilt"))
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*words):
        done = subprocess.run([str(word) for word in words], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, "OPDUMP_CACHE": str(tmp_path / "cache"), "CXX": compiler})
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    golden = run(os.environ["OPDUMP_BIN"], "run", "-o", "golden", "--", sys.executable, "program.py")
    actual = run(package / "bin/opdump", "run", "-o", "actual", "--", sys.executable, "program.py")
    assert "built in" not in golden.stderr and "opdump: built in " in actual.stderr and golden.stdout == actual.stdout, actual.stderr
    recorder, = (tmp_path / "cache/adapters").rglob("recorder.so")
    operators, expected = ((tmp_path / name / "rank_0/operators.jsonl").read_text() for name in ("actual", "golden"))
    assert operators == expected and operators.count("\n") > 20
    assert "no difference: " in run(os.environ["OPDUMP_BIN"], "compare", "golden", "actual").stdout
    again = run(package / "bin/opdump", "run", "-o", "again", "--", sys.executable, "program.py")
    assert "built in" not in again.stderr and list((tmp_path / "cache/adapters").rglob("recorder.so")) == [recorder]
