"""A wheel, assembled of the build that is tested: its recorder is found by the version of torch, tried out, and used without a compiler."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ["OPDUMP_BIN"]).parent.parent
PROGRAM = "import torch\nprint((torch.ones(3) * 2).tanh().shape)\n"


def run(*words, check=True, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def version_of_torch():
    return run(sys.executable, "-c", "import torch; print('.'.join(torch.__version__.split('.')[:2]), int(torch._C._GLIBCXX_USE_CXX11_ABI))").stdout.split()


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with the wheel and the system's torch."""
    folder = tmp_path_factory.mktemp("wheel")
    wheels = [run(sys.executable, ROOT / "tools/wheel/of_build.py", BUILD, folder / out).stdout.strip() for out in ("once", "twice")]
    assert pathlib.Path(wheels[0]).read_bytes() == pathlib.Path(wheels[1]).read_bytes(), "the same input gives the same bytes"
    run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", folder / "venv")
    run(sys.executable, "-m", "pip", "--python", folder / "venv/bin/python", "install", "--no-index", "--no-deps", wheels[0])
    return folder / "venv"


def without_compiler(tmp_path, environment):
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH", "OPDUMP_PYTHON")}
    return clean | {"OPDUMP_CACHE": str(tmp_path / "cache"), "CXX": "no-such-compiler", "PATH": f"{environment}/bin:{os.environ['PATH']}"}


def test_the_commands(environment, tmp_path):
    variables = without_compiler(tmp_path, environment)
    said = run("opdump", "--version", env=variables).stdout
    assert said.startswith("opdump ")
    assert run("python", "-m", "opdump", "--version", env=variables).stdout == said
    assert "convert" in run("msaccucmp.py", "--help", env=variables).stdout
    shown = run("python", "-c", "import importlib.metadata as m; print(m.metadata('opdump')['License-Expression'], len(m.files('opdump')))", env=variables)
    assert shown.stdout.startswith("Apache-2.0 ")


def test_it_records_without_a_compiler(environment, tmp_path):
    variables = without_compiler(tmp_path, environment)
    (tmp_path / "program.py").write_text(PROGRAM)
    for name in ("golden", "actual"):  # the second time it is known to work
        done = run("opdump", "run", "-o", name, "--", "python", "program.py", cwd=tmp_path, env=variables)
        assert done.stdout == "torch.Size([3])\n" and "opdump: dumped " in done.stderr, done.stderr
    tried, = (path for path in (tmp_path / "cache/tried").iterdir() if not path.name.startswith("known-"))
    assert tried.read_text() == "" and not (tmp_path / "cache/adapters").exists()
    assert "no difference: " in run("opdump", "compare", "golden", "actual", cwd=tmp_path, env=variables).stdout
    assert "recorder    of the package, for torch " in run("opdump", "doctor", check=False, env=variables).stdout


# What torch says of its build. It is asked for by this name in recorders of either C++ ABI.
OTHER_RELEASE = """
#include <map>
#include <string>
namespace caffe2 {
__attribute__((visibility("default"))) const std::map<std::string, std::string>& GetBuildOptions() {
  static const std::map<std::string, std::string> options{{"TORCH_VERSION", "VERSION"}};
  return options;
}
}
"""


def test_a_later_release_of_the_same_minor_version(environment, tmp_path):
    """A recording has the version of the torch that ran, and not that of the headers that the recorder was built with."""
    version, abi = version_of_torch()
    (tmp_path / "release.cc").write_text(OTHER_RELEASE.replace("VERSION\"}", f"{version}.77\"}}"))
    run("c++", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-o", tmp_path / "release.so", tmp_path / "release.cc")
    variables = without_compiler(tmp_path, environment)
    (tmp_path / "program.py").write_text(PROGRAM)
    for name, more in (("own", {}), ("later", {"LD_PRELOAD": str(tmp_path / "release.so")})):
        run("opdump", "run", "-o", name, "--", "python", "program.py", cwd=tmp_path, env=variables | more)
    said = {name: {json.loads(path.read_text())["runtime"] for path in (tmp_path / name).rglob("opdump_status.json")} for name in ("own", "later")}
    assert len(said["own"]) == 1 and said["own"].pop().startswith(f"torch {version}."), said
    assert said["later"] == {f"torch {version}.77"}


def test_one_that_does_not_work(environment, tmp_path):
    """With this torch, whatever its version says: it is not used, and without a compiler the program does not begin."""
    broken = tmp_path / "venv"
    shutil.copytree(environment, broken, symlinks=True)
    library, = broken.rglob("libopdump_torch.so")
    content = library.read_bytes().replace(b"opdump_torch_start\0", b"opdump_torch_stars\0")
    assert content != library.read_bytes()
    library.write_bytes(content)
    variables = without_compiler(tmp_path, broken)
    program = next(broken.rglob("opdump/bin/opdump"))
    begun = "print('begun', flush=True)\n"
    done = run(program, "run", "-o", "dump", "--", broken / "bin/python", "-c", begun + PROGRAM, check=False, cwd=tmp_path, env=variables)
    assert (done.returncode, done.stdout) == (2, "") and not (tmp_path / "dump").exists(), done.stderr
    assert "nothing can be recorded, and the program was not run: no-such-compiler: No such file or directory" in done.stderr
    tried, = (tmp_path / "cache/tried").iterdir()
    assert tried.read_text() != ""


def test_programs_of_another_environment(environment, tmp_path):
    """As with pipx: nothing but opdump itself is found in the environment of opdump."""
    other = tmp_path / "other"
    run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", other)
    site = next(environment.glob("lib/python3*/site-packages"))
    (site / "only_beside_opdump.py").write_text("")
    try:
        program = "import torch, importlib.util\nprint(importlib.util.find_spec('only_beside_opdump'), torch.ones(2).exp().shape)"
        done = run(environment / "bin/opdump", "run", "-o", "dump", "--", other / "bin/python", "-c", program, cwd=tmp_path,
                   env=without_compiler(tmp_path, environment))
    finally:
        (site / "only_beside_opdump.py").unlink()
    assert done.stdout == "None torch.Size([2])\n" and "opdump: dumped " in done.stderr, done.stderr
