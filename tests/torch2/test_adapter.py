"""The recorder is built for the torch at hand, once; where that is impossible, the program runs as it does without us, and
one sentence says why nothing is recorded."""

import functools
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from recording import BUILD, OPDUMP, PYTHON, command, config, needs_torch, record, run


@functools.cache
def has_recorder():
    """In the build, so that none is made for it."""
    name = run([PYTHON, "-c", "import sys; sys.path.append(sys.argv[1]); from opdump import _adapter; print(_adapter.identity())",
                BUILD / "python"], BUILD).stdout.strip()
    return (BUILD / "python/opdump/adapters" / name / "_torch.so").exists()


pytestmark = [needs_torch, pytest.mark.skipif("has_recorder()", reason="this torch has a recorder in the build")]


def own_lines(text):
    """What opdump says of the recorder, without what it announces."""
    return [line for line in text.splitlines()
            if line.startswith("opdump:") and not line.startswith(("opdump: building ", "opdump: recording "))]


def test_the_adapter_is_built_once_by_processes_that_start_at_once(tmp_path):
    environment = {"OPDUMP_CACHE": str(tmp_path / "cache")}
    programs = [subprocess.Popen([OPDUMP, "run", "--config", config(tmp_path, f"dump{i}"), "--", *command("sdpa")], cwd=tmp_path,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
                for i in range(2)]
    said = [program.communicate(timeout=900) for program in programs]
    assert all(program.returncode == 0 for program in programs), said
    assert sum("building the recorder for torch 2." in err for _, err in said) == 1
    assert all("opdump: dumped" in err for _, err in said), said
    assert len(list((tmp_path / "cache").rglob("_torch.so"))) == 1


@pytest.mark.parametrize("environment, sentence", [
    ({"CXX": "false"}, "the recorder for this torch could not be built; the compiler's messages are in .*build.log"),
    ({"CXX": "no-such-compiler"}, "no-such-compiler: No such file or directory; name another compiler with CXX"),
    ({"CXX": "", "PATH": "/nowhere"}, r"there is no C\+\+ compiler"),
    ({"OPDUMP_CACHE": "/dev/null/cache"}, r"cannot write the recorder to /dev/null/cache/.*set OPDUMP_CACHE"),
])
def test_without_an_adapter_the_program_runs_undumped(environment, sentence, tmp_path):
    plain = run(command("sdpa"), tmp_path)
    done = record(tmp_path, "sdpa", **{"OPDUMP_CACHE": str(tmp_path / "cache"), **environment})
    assert done.stdout == plain.stdout
    line, = own_lines(done.stderr)
    assert re.fullmatch(f"opdump: nothing is recorded: {sentence}.*", line), done.stderr


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_loads_nothing_of_ours(option, tmp_path):
    words = [PYTHON, option, "-c", "import sys; sys.path.append(sys.argv[1]); import torch; print(torch.ones(3).exp()); sys.exit(7)",
             next(path for path in run([PYTHON, "-c", "import torch; print(*torch.__path__)"], tmp_path).stdout.split()) + "/.."]
    plain = run(words, tmp_path)
    done = run([OPDUMP, "run", "-o", "dump", "--", *words], tmp_path)
    assert (done.returncode, done.stdout) == (7, plain.stdout), done.stderr
    assert own_lines(done.stderr) == ["opdump: nothing was dumped: the program did not import torch or TensorFlow (or runs Python with -I, "
                                      "-E or -S)"]


def test_a_torch_that_is_too_old(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '1.12.1'\n")  # PyPI has none for the Python of today
    done = run([OPDUMP, "run", "-o", "dump", "--", PYTHON, "-c", "import torch; print(torch.__version__); raise SystemExit(7)"], tmp_path)
    assert (done.returncode, done.stdout) == (7, "1.12.1\n"), done.stderr
    assert own_lines(done.stderr) == ["opdump: nothing is recorded: torch 1.12.1 is too old: opdump supports 1.13 and newer"]


def test_a_cache_that_is_read_only(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    # Read-only for everyone, root included.
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", f"mount -t tmpfs -o ro none {cache} && exec \"$@\"", "sh"]
    if run([*words, "true"], tmp_path).returncode != 0:
        pytest.skip("this system has no namespaces for mounts")
    plain = run(command("sdpa"), tmp_path)
    done = run([*words, OPDUMP, "run", "-o", "dump", "--", *command("sdpa")], tmp_path, OPDUMP_CACHE=str(cache))
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    line, = own_lines(done.stderr)
    assert re.fullmatch(f"opdump: nothing is recorded: cannot write the recorder to {cache}/.* \\(Read-only file system\\): set OPDUMP_CACHE .*", line)


WHERE = """
import sys, torch
sys.path.append(sys.argv[1])
from opdump import _adapter
print(_adapter._cache() / "adapters" / f"{_adapter.identity()}-{_adapter.digest(_adapter._SOURCES, _adapter._FLAGS)}")
"""


def test_a_recorder_for_another_torch(tmp_path):
    """In the place of the right one: it does not load."""
    others = list((BUILD / "python/opdump/adapters").rglob("_torch.so"))
    if not others:
        pytest.skip("no recorder in the build")
    environment = {"OPDUMP_CACHE": str(tmp_path / "cache")}
    place = pathlib.Path(run([PYTHON, "-c", WHERE, BUILD / "python"], tmp_path, **environment).stdout.strip())
    place.mkdir(parents=True)
    shutil.copy(others[0], place / "_torch.so")
    plain = run(command("sdpa"), tmp_path)
    done = run([OPDUMP, "run", "-o", "dump", "--", *command("sdpa")], tmp_path, **environment)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    line, = own_lines(done.stderr)
    assert line.startswith("opdump: nothing is recorded: "), line


COMPILERS = ["g++-12", "g++-13", "g++-14", *(f"clang++-{version}" for version in range(14, 20))]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_builds_with(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    done = record(tmp_path, "sdpa", CXX=compiler, OPDUMP_CACHE=str(tmp_path / "cache"))
    assert "built in" in done.stderr and "opdump: dumped" in done.stderr
