"""The recorder is built for the torch at hand, once; where that is impossible, one sentence says why nothing can be recorded, and
the program does not begin, or runs as it does without us if that was asked for."""

import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

import pytest
import recording
from recording import BUILD, PYTHON, needs_torch, run

pytestmark = needs_torch
PROGRAM = """
import torch
torch.manual_seed(0)
x = torch.randn(4, 3, requires_grad=True)
loss = torch.nn.functional.linear(x, torch.ones(2, 3)).tanh().sum()
loss.backward()
print(x.grad.sum())
"""
WORDS = [PYTHON, "-c", PROGRAM]


@pytest.fixture(autouse=True, scope="module")
def opdump(tmp_path_factory):
    """An installation without a recorder: that of the build is for the torch that it was built with."""
    root = tmp_path_factory.mktemp("opdump")
    for directory in ("bin", "python"):
        (root / directory).mkdir()
    shutil.copy(recording.OPDUMP, root / "bin/opdump")
    (root / "lib").symlink_to(BUILD / "lib")
    shutil.copytree(BUILD / "python/opdump", root / "python/opdump", ignore=shutil.ignore_patterns("adapters"))
    return root / "bin/opdump"


def record(opdump, directory, **environment):
    done = run([opdump, "run", "-o", "dump", "--", *WORDS], directory, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def refusal(opdump, directory, sentence, **environment):
    """What there is no recorder for does not begin; with --best-effort it runs as it does without us."""
    plain = run(WORDS, directory)
    done = run([opdump, "run", "-o", "dump", "--best-effort", "--", *WORDS], directory, **environment)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    line, = own_lines(done.stderr)
    assert re.fullmatch(f"opdump: nothing is recorded: {sentence}", line), done.stderr
    refused = run([opdump, "run", "-o", "dump", "--", *WORDS], directory, **environment)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert not (directory / "dump").exists()
    line, = own_lines(refused.stderr)
    assert re.fullmatch(rf"opdump: nothing can be recorded, and the program was not run: {sentence} \(--best-effort runs it without opdump; "
                        r"opdump doctor says what is missing\)", line), refused.stderr


def own_lines(text):
    """What opdump says of the recorder, without what it announces."""
    return [line for line in text.splitlines()
            if line.startswith("opdump:") and not line.startswith(("opdump: building ", "opdump: recording "))]


def test_the_adapter_is_built_once_by_processes_that_start_at_once(opdump, tmp_path):
    environment = {"OPDUMP_CACHE": str(tmp_path / "cache")}
    programs = [subprocess.Popen([opdump, "run", "-o", f"dump{i}", "--", *WORDS], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env={**os.environ, **environment})
                for i in range(2)]
    said = [program.communicate(timeout=900) for program in programs]
    assert all(program.returncode == 0 for program in programs), said
    assert sum("building the recorder for torch " in err for _, err in said) == 1
    assert all("opdump: dumped" in err for _, err in said), said
    assert len(list((tmp_path / "cache").rglob("recorder.so"))) == 1


@pytest.mark.parametrize("environment, sentence", [
    ({"CXX": "false"}, r"the recorder for this torch could not be built; the compiler's messages are in .*build.log; it takes g[+][+] 12"),
    ({"CXX": "no-such-compiler"}, "no-such-compiler: No such file or directory; name another compiler with CXX"),
    ({"CXX": '"'}, r'CXX is ", which is no command \(No closing quotation\): set it to a C\+\+ compiler, or unset it'),
    ({"OPDUMP_CACHE": "/dev/null/cache"}, r"cannot write the recorder to /dev/null/cache/.*set OPDUMP_CACHE"),
])
def test_without_an_adapter_the_program_does_not_begin(opdump, environment, sentence, tmp_path):
    refusal(opdump, tmp_path, f"{sentence}.*", **{"OPDUMP_CACHE": str(tmp_path / "cache"), **environment})


def test_without_a_compiler_the_recorder_in_python_records(opdump, tmp_path):
    """The same operators, names, arguments and makers."""
    run([opdump, "run", "-o", "golden", "--", *WORDS], tmp_path)
    done = run([opdump, "run", "-o", "actual", "--", *WORDS], tmp_path, OPDUMP_CACHE=str(tmp_path / "cache"), CXX=" ", PATH="/nowhere")
    assert done.returncode == 0 and "recording in Python, which takes longer for each operator: there is no C++ compiler" in done.stderr, done.stderr
    golden, actual = ((tmp_path / name / "rank_0/operators.jsonl").read_text().splitlines() for name in ("golden", "actual"))
    assert len(golden) > 20 and golden == actual
    compared = run([opdump, "compare", "golden", "actual"], tmp_path)
    assert compared.returncode == 0 and "no difference: " in compared.stdout and "only in" not in compared.stdout, compared.stdout


@pytest.mark.parametrize("compiles", [False, True])
def test_what_the_recorder_in_python_says_of_compilers(opdump, tmp_path, compiles):
    """Once, and only to a program that gives something to one: torch itself imports the compiler for other reasons."""
    asks = "torch._dynamo.optimize, torch.compile(lambda x: x + 1)(torch.ones(2)), torch.compile(lambda x: x + 2)(torch.ones(2))"
    program = f"import torch, torch._dynamo\nprint(({asks if compiles else 'torch.ones(2) + 1'})[-1].sum())"
    environment = {"OPDUMP_CACHE": str(tmp_path / "cache"), "CXX": " ", "PATH": "/nowhere"}
    done = run([opdump, "run", "-o", "dump", "--", PYTHON, "-c", program], tmp_path, **environment)
    assert done.returncode == 0 and "recording in Python" in done.stderr, done.stderr
    assert done.stderr.count("runs and is recorded operator by operator, uncompiled") == int(compiles), done.stderr
    done = run([opdump, "run", "-o", "hidden", "--compiled", "aten", "--", PYTHON, "-c", program], tmp_path, **environment)
    assert done.returncode == 0 and "torch.compile" not in done.stderr, done.stderr


def test_a_block_that_cannot_be_recorded(opdump, tmp_path):
    done = run([PYTHON, "-c", """
import opdump
try:
    with opdump.record("dump"):
        print("not reached")
except opdump.Error as error:
    print(error.code, error)
"""], tmp_path, PYTHONPATH=str(opdump.parent.parent / "python"), OPDUMP_CACHE=str(tmp_path / "cache"), CXX="no-such-compiler")
    assert (done.returncode, done.stdout) == (0, "unsupported no-such-compiler: No such file or directory; name another compiler with CXX\n")


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_loads_nothing_of_ours(opdump, option, tmp_path):
    words = [PYTHON, option, "-c", "import sys; sys.path.append(sys.argv[1]); import torch; print(torch.ones(3).exp()); sys.exit(7)",
             next(path for path in run([PYTHON, "-c", "import torch; print(*torch.__path__)"], tmp_path).stdout.split()) + "/.."]
    plain = run(words, tmp_path)
    done = run([opdump, "run", "-o", "dump", "--", *words], tmp_path)
    assert (done.returncode, done.stdout) == (7, plain.stdout), done.stderr
    assert own_lines(done.stderr) == ["opdump: nothing was dumped: the program did not import torch or TensorFlow (Python with -I, "
                                      "-E or -S does not load opdump: leave these options out)"]


def test_a_static_program(opdump, tmp_path):
    """Nothing of ours can be loaded into it."""
    (tmp_path / "program.c").write_text('#include <stdio.h>\nint main(void) { puts("here"); return 7; }\n')
    subprocess.run(["cc", "-static", "program.c", "-o", "program"], cwd=tmp_path, check=True)
    done = run([opdump, "run", "-o", "dump", "--", "./program"], tmp_path)
    assert (done.returncode, done.stdout) == (7, "here\n"), done.stderr
    assert own_lines(done.stderr) == ["opdump: nothing was dumped: the program did not import torch or TensorFlow (Python with -I, "
                                      "-E or -S does not load opdump: leave these options out)"]


def test_a_torch_that_is_too_old(opdump, tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '1.12.1'\n")  # PyPI has none for the Python of today
    program = [PYTHON, "-c", "import torch; print(torch.__version__); raise SystemExit(7)"]
    done = run([opdump, "run", "-o", "dump", "--best-effort", "--", *program], tmp_path)
    assert (done.returncode, done.stdout) == (7, "1.12.1\n"), done.stderr
    assert own_lines(done.stderr) == ["opdump: nothing is recorded: torch 1.12.1 is too old: opdump supports 1.13 and newer"]
    refused = run([opdump, "run", "-o", "dump", "--", *program], tmp_path)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr


def test_a_cache_that_is_read_only(opdump, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    # Read-only for everyone, root included.
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", f"mount -t tmpfs -o ro none {cache} && exec \"$@\"", "sh"]
    if run([*words, "true"], tmp_path).returncode != 0:
        pytest.skip("this system has no namespaces for mounts")
    done = run([*words, opdump, "run", "-o", "dump", "--", *WORDS], tmp_path, OPDUMP_CACHE=str(cache))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    line, = own_lines(done.stderr)
    assert re.fullmatch(f"opdump: nothing can be recorded, .*: cannot write the recorder to {cache}/.* \\(Read-only file system\\): set "
                        "OPDUMP_CACHE .*", line)


def test_a_full_disk(opdump, tmp_path):
    """Is not the compiler's fault."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "compiler").write_text('#!/bin/sh\nfor last; do :; done\nexec dd if=/dev/zero of="$last" bs=64k\n')
    (tmp_path / "compiler").chmod(0o755)
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", f"mount -t tmpfs -o size=256k none {cache} && exec \"$@\"", "sh"]
    if run([*words, "true"], tmp_path).returncode != 0:
        pytest.skip("this system has no namespaces for mounts")
    done = run([*words, opdump, "run", "-o", "dump", "--", *WORDS], tmp_path, OPDUMP_CACHE=str(cache), CXX=str(tmp_path / "compiler"))
    assert done.returncode == 2, done.stderr
    line, = own_lines(done.stderr)
    assert f": the disk is full: make room in {cache}/" in line and "OPDUMP_CACHE and TMPDIR" in line


def test_an_interruption_while_it_is_built(opdump, tmp_path):
    """One line, and the status of a program that is interrupted."""
    (tmp_path / "compiler").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "compiler").chmod(0o755)
    program = subprocess.Popen([opdump, "run", "-o", "dump", "--", *WORDS], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env={**os.environ, "OPDUMP_CACHE": str(tmp_path / "cache"), "CXX": str(tmp_path / "compiler"),
                                                            "TMPDIR": str(tmp_path)})
    while "building the recorder" not in (line := program.stderr.readline()):
        assert line, "it ended"
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (-signal.SIGINT, "") and err == "opdump: interrupted before the program began\n", err
    assert not list(tmp_path.glob("opdump-run-*"))


WHERE = """
import sys, torch
sys.path.append(sys.argv[1])
from opdump import _building
from opdump._torch import adapter
print(_building.cache() / "adapters" / f"{adapter.identity()}-{_building.digest(adapter._SOURCES, adapter._FLAGS)}")
"""


def empty_cache(folder):
    """A recorder of the build, where this torch's one would lie in a cache that has none, and what chooses that cache."""
    built = next((BUILD / "python/opdump/_torch/adapters").rglob("recorder.so"), None)
    if built is None:
        pytest.skip("no recorder in the build")
    environment = {"OPDUMP_CACHE": str(folder / "cache")}
    place = pathlib.Path(run([PYTHON, "-c", WHERE, BUILD / "python"], folder, **environment).stdout.strip())
    place.mkdir(parents=True)
    return built, place, environment


def test_a_recorder_for_another_torch(opdump, tmp_path):
    """In the place of the right one: it is not loaded."""
    built, place, environment = empty_cache(tmp_path)
    mark = rb"(opdump recorder for torch )\d(\.\d+;)"
    assert re.search(mark, built.read_bytes())
    (place / "recorder.so").write_bytes(re.sub(mark, rb"\g<1>9\2", built.read_bytes()))
    refusal(opdump, tmp_path, r"\S+/recorder.so is a recorder for another torch than \S+: remove it", **environment)


@pytest.mark.parametrize("content", [None, 0, 4096], ids=["directory", "empty", "cut off"])
def test_a_damaged_recorder(opdump, content, tmp_path):
    """One that is cut off would end the program with SIGBUS."""
    built, place, environment = empty_cache(tmp_path)
    if content is None:
        (place / "recorder.so").mkdir()
    else:
        (place / "recorder.so").write_bytes(built.read_bytes()[:content])
    refusal(opdump, tmp_path, r"\S+/recorder.so is damaged: remove it, and .* builds it again", **environment)


def test_a_build_that_was_killed(opdump, tmp_path):
    """The next one waits for a process that builds, and removes what the killed one left."""
    environment = {"OPDUMP_CACHE": str(tmp_path / "cache"), "CXX": "false"}
    place = pathlib.Path(run([PYTHON, "-c", WHERE, BUILD / "python"], tmp_path, **environment).stdout.strip())
    (place / "build-killed").mkdir(parents=True)
    (place / "build-killed/unit0.o").write_bytes(b"half")
    with open(place / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patience = threading.Timer(60, fcntl.flock, (lock, fcntl.LOCK_UN))
        patience.start()
        program = subprocess.Popen([opdump, "run", "-o", "dump", "--", *WORDS], cwd=tmp_path, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        said = [program.stderr.readline() for _ in range(2)]
        assert said[1] == "opdump: waiting for another process, which builds the recorder\n", said
        assert (place / "build-killed").is_dir()
        patience.cancel()
    assert "could not be built" in program.communicate(timeout=300)[1]
    assert program.returncode == 2 and not list(place.glob("build-*"))


COMPILERS = ["g++-12", "g++-13", "g++-14", *(f"clang++-{version}" for version in range(14, 20))]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_builds_with(opdump, compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    done = record(opdump, tmp_path, CXX=compiler, OPDUMP_CACHE=str(tmp_path / "cache"))
    assert "built in" in done.stderr and "opdump: dumped" in done.stderr
