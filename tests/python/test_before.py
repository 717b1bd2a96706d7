"""Before a program begins, opdump knows whether it imports torch, as far as its sources say, and whether that torch can be recorded."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from opdump import _before, _building, _sources
from opdump._torch import adapter


@pytest.mark.parametrize("words, expected", [
    (["python3", "train.py", "-c", "no"], ("", "train.py")),
    (["python3", "-u", "-X", "dev", "-Wignore", "train.py"], ("", "train.py")),
    (["python3", "-uc", "print(1)", "x"], ("c", "print(1)")),
    (["python3", "-cprint(1)"], ("c", "print(1)")),
    (["python3", "--check-hash-based-pycs", "always", "-m", "pkg.train"], ("m", "pkg.train")),
    (["python3", "-", "x"], ("", "")),
    (["python3"], ("", "")),
    (["python3", "-m"], ("m", "")),
])
def test_the_script_of_a_command(words, expected):
    assert _before.script_of(words) == expected


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A program's folder, and installed packages: one of which requires torch by way of another one, and one for an extra."""
    site = tmp_path / "venv/site-packages"
    for name, requires in (("lightning", "Fabric_Base>=2; python_version > '3'"), ("fabric-base", "torch (>=1.13)"), ("arrays", "pytest; extra == 'test'"),
                           ("hub", "torch; extra == 'torch'"), ("uses-hub", "hub")):
        module = name.replace("-", "_")
        (site / module).mkdir(parents=True)
        (site / module / "__init__.py").write_text("import torch\n")  # which is not read: what is installed says what it requires
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    (tmp_path / "model").mkdir()
    (tmp_path / "model/__init__.py").write_text("from . import layers\n")
    (tmp_path / "model/layers.py").write_text("import math, torch.nn as nn\n")
    (tmp_path / "plain.py").write_text("import json\nimport plain  # itself\n")
    (tmp_path / "broken.py").write_text("import torch (\n")
    return tmp_path


@pytest.mark.parametrize("text, expected", [
    ("import torch", True),
    ("def f():\n  from torch.nn import functional", True),
    ("import importlib\nimportlib.import_module('torch')", True),
    ("import model", True),
    ("from model.layers import nn", True),
    ("import lightning as L", True),
    ("import hub", True),
    ("import uses_hub", False),
    ("import arrays, plain, sys, broken, nowhere, torch_geometric_not_here", False),
    ("print('import torch')  # torch", False),
    ("from . import torch", False),
    ("import torch (", False),
])
def test_what_a_program_imports(place, text, expected):
    assert _sources.import_package("torch", "c", text, str(place)) == expected
    (place / "train.py").write_text(text)
    assert _sources.import_package("torch", "", str(place / "train.py"), str(place)) == expected


@pytest.mark.parametrize("module, expected", [("torch.distributed.run", True), ("model.train", True), ("lightning.cli", True), ("arrays", False),
                                              ("json.tool", False), ("", False)])
def test_what_a_module_imports(place, module, expected):
    assert _sources.import_package("torch", "m", module, str(place)) == expected


def run(words, directory, **environment):
    return subprocess.run([os.environ["OPDUMP_BIN"], "run", "-o", "dump", *words], cwd=directory, capture_output=True, text=True, check=False,
                          env={**os.environ, "OPDUMP_CACHE": str(directory / "cache"), **environment})


OLD = ["--", sys.executable, "train.py"]


@pytest.fixture
def old_torch(tmp_path):
    """One that nothing records, beside a program that does something before it imports it."""
    (tmp_path / "torch.py").write_text("__version__ = '1.12.1'\n")
    (tmp_path / "train.py").write_text("open('begun', 'w').close()\nimport torch\nprint(torch.__version__)\n")
    return tmp_path


def test_a_program_that_cannot_be_recorded_does_not_begin(old_torch):
    done = run(OLD, old_torch)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "opdump: nothing can be recorded, and the program was not run: torch 1.12.1 is too old: opdump supports 1.13 and newer (" in done.stderr
    assert not (old_torch / "begun").exists() and not (old_torch / "dump").exists()
    done = run(["--best-effort", *OLD], old_torch)
    assert (done.returncode, done.stdout) == (0, "1.12.1\n"), done.stderr
    assert (old_torch / "begun").exists() and not (old_torch / "dump").exists()


def test_a_folder_that_was_there_stays(old_torch):
    (old_torch / "dump").mkdir()
    assert run(OLD, old_torch).returncode == 2
    assert (old_torch / "dump").is_dir()


def test_a_program_that_imports_no_torch_runs(old_torch):
    for words in (["-c", "print('here')"], ["-m", "json.tool", "--help"]):
        done = run(["--", sys.executable, *words], old_torch)
        assert done.returncode == 0 and done.stdout != "", done.stderr
        (old_torch / "dump/opdump_config.json").unlink()
        assert not (old_torch / "cache").exists()


def test_an_import_that_no_source_shows(old_torch):
    """It is refused when it comes."""
    done = run(["--", sys.executable, "-c", "print('begun', flush=True)\n__import__('tor' + 'ch')\nprint('not reached')"], old_torch)
    assert (done.returncode, done.stdout) == (2, "begun\n"), done.stderr
    assert "nothing can be recorded, and the program was ended where it imports torch, TensorFlow or Flax: torch 1.12.1 is too old" in done.stderr
    assert not (old_torch / "dump").exists()


def test_a_torch_that_does_not_load(old_torch):
    """The program says so itself."""
    (old_torch / "torch.py").write_text("raise ImportError('broken')\n")
    done = run(OLD, old_torch)
    assert done.returncode == 1 and "ImportError: broken" in done.stderr, done.stderr
    assert "opdump: nothing was dumped: the program's import of torch or TensorFlow failed (opdump doctor " in done.stderr, done.stderr
    assert "did not import" not in done.stderr
    assert (old_torch / "begun").exists()


def test_what_was_found_out_is_kept(tmp_path):
    """The second program waits for nothing, and a note that names a recorder which is gone is not believed."""
    (tmp_path / "train.py").write_text("import torch\nprint(torch.ones(3).exp().shape)\n")
    words = ["--force", "--", sys.executable, "train.py"]
    assert run(words, tmp_path).returncode == 0
    note, = (tmp_path / "cache/tried").glob("known-*")
    recorder = note.read_text()
    assert os.path.isfile(recorder)
    written = note.stat().st_mtime_ns
    assert run(words, tmp_path).returncode == 0
    assert note.stat().st_mtime_ns == written
    note.write_text(recorder + ".gone")
    assert run(words, tmp_path).returncode == 0
    assert note.read_text() == recorder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_killed_leaves_no_temporary_files(tmp_path, number):
    (tmp_path / "temporary").mkdir()
    program = subprocess.Popen([os.environ["OPDUMP_BIN"], "run", "-o", "dump", "--", sys.executable, "-c",
                                "import time; print('here', flush=True); time.sleep(60)"], cwd=tmp_path, stdout=subprocess.PIPE,
                               env={**os.environ, "TMPDIR": str(tmp_path / "temporary")})
    assert program.stdout.readline() == b"here\n"
    program.send_signal(number)
    assert program.wait(timeout=60) == -number
    assert not list((tmp_path / "temporary").iterdir())


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    """And nothing of one that still runs."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {**os.environ, "TMPDIR": str(temporary)}

    def words(name, text):
        return [os.environ["OPDUMP_BIN"], "run", "-o", name, "--", sys.executable, "-c", text]

    programs = []
    try:
        for name in ("living", "killed"):
            programs.append(subprocess.Popen(words(name, "import time; print('here', flush=True); time.sleep(60)"), cwd=tmp_path,
                                             stdout=subprocess.PIPE, env=variables, start_new_session=True))
            assert programs[-1].stdout.readline() == b"here\n"
            if len(programs) == 1:
                of_the_living = sorted(temporary.iterdir())
        assert len(of_the_living) == 3 and len(list(temporary.iterdir())) == 6
        os.killpg(programs[1].pid, signal.SIGKILL)
        programs[1].wait(timeout=60)
        for path in temporary.iterdir():
            os.utime(path, (0, 0))
        subprocess.run(words("next", "pass"), cwd=tmp_path, check=True, env=variables)
        assert sorted(temporary.iterdir()) == of_the_living
    finally:
        for program in programs:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait(timeout=60)


def test_the_cache_has_a_size(tmp_path):
    """Whatever it has that cannot be looked at: here a link to a name that is too long."""
    cache = tmp_path / "cache"
    (cache / "adapters").mkdir(parents=True)
    (cache / "adapters/file").write_bytes(bytes(2000))
    (cache / "link").symlink_to("x" * 300)
    done = subprocess.run([os.environ["OPDUMP_BIN"], "cache"], capture_output=True, text=True, check=False,
                          env={**os.environ, "OPDUMP_CACHE": str(cache)})
    assert (done.returncode, done.stdout) == (0, f"{cache}: 2.0 kB\n"), done.stderr


def test_headers_of_another_torch(tmp_path):
    """Debian's torch has links to the system's headers, and gcc names what they lead to."""
    headers, system = tmp_path / "packages/torch/include", tmp_path / "usr/include"
    for folder in (headers, system / "ATen/core", system / "c10"):
        folder.mkdir(parents=True)
    (system / "ATen/core/Tensor.h").touch()
    (system / "c10/Old.h").touch()
    (headers / "ATen").symlink_to(system / "ATen")

    def check(*paths):
        (tmp_path / "unit0.d").write_text("unit0.o: \\\n " + " \\\n ".join(map(str, paths)) + "\n")
        adapter._check_headers(tmp_path, headers)

    check("/usr/include/stdio.h", headers / "ATen/core/Tensor.h", system / "ATen/core/../core/Tensor.h")
    with pytest.raises(adapter.CannotBuildHere, match="c10/Old.h is a header of another torch"):
        check(system / "ATen/core/Tensor.h", system / "c10/Old.h")


@pytest.mark.parametrize("words, expected", [("No space left on device", "the disk is full: make room in "), ("no such header", "could not be built")])
def test_a_compiler_whose_messages_find_no_room(words, expected):
    """The log is on the disk that is full, and the compiler has removed what filled it."""
    with pytest.raises(_building.CannotBuild, match=expected):
        _building.run([["sh", "-c", f"echo {words} >&2; exit 1"]], pathlib.Path("/dev/full"), "torch")


def test_the_messages_of_compilers(tmp_path):
    for text in ("one", "two"):
        _building.run([["echo", text]], tmp_path / "build.log", "torch")
    with pytest.raises(_building.CannotBuild):
        _building.run([["sh", "-c", "echo three; exit 1"]], tmp_path / "build.log", "torch")
    assert (tmp_path / "build.log").read_text() == "one\ntwo\nthree\n"
