"""tools/fetch_NAME.sh: an environment is there as a whole or not at all."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
ALONE = ("mindspore", "tensorflow", "torch", "vllm")
ON_TORCH = ("msprobe", "sglang")


def make_wheel(directory, name, version):
    """A package with one module."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{module}.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def fetch(tmp_path):
    """Runs a script with a cache of its own, and packages of tmp_path/wheels alone."""
    (tmp_path / "wheels").mkdir()
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}

    def run(name, *arguments, expect=0):
        done = subprocess.run([TOOLS / f"fetch_{name}.sh", *arguments], capture_output=True, text=True, env=env, timeout=300, check=False)
        assert (done.returncode == 0) == (expect == 0), done.stderr
        return pathlib.Path(done.stdout.strip())

    return run


@pytest.mark.parametrize("name", ALONE + ON_TORCH)
def test_what_was_interrupted_is_not_there(fetch, name):
    where = fetch(name, "--where", "1.0", sys.executable)
    fetch(name, "1.0", sys.executable, expect=1)  # there is no such package
    assert fetch(name, "--where", "1.0", sys.executable) == where
    assert not where.exists()


def test_one_that_was_interrupted_is_made_anew(fetch, tmp_path):
    fetch("mindspore", "1.0", sys.executable, expect=1)
    make_wheel(tmp_path / "wheels", "mindspore", "1.0")
    python = fetch("mindspore", "1.0", sys.executable)
    assert python == fetch("mindspore", "--where", "1.0", sys.executable)
    said = subprocess.run([python, "-c", "import mindspore; print(mindspore.VERSION)"], capture_output=True, text=True, check=True)
    assert said.stdout == "1.0\n"
    # It is kept as it is.
    (tmp_path / "wheels/mindspore-1.0-py3-none-any.whl").unlink()
    assert fetch("mindspore", "1.0", sys.executable) == python


def test_an_older_environment_that_was_interrupted_is_replaced(fetch, tmp_path):
    where = fetch("tensorflow", "--where", "1.0", sys.executable)
    where.parent.mkdir(parents=True)
    where.symlink_to(sys.executable)
    make_wheel(tmp_path / "wheels", "tensorflow-cpu", "1.0")
    python = fetch("tensorflow", "1.0", sys.executable)
    subprocess.run([python, "-c", "import tensorflow_cpu"], check=True)


def test_a_list_that_grew_is_added(fetch, tmp_path):
    make_wheel(tmp_path / "wheels", "mindspore", "1.0")
    python = fetch("mindspore", "1.0", sys.executable)
    (python.parent.parent / "complete").write_text("an older list\n")
    fetch("mindspore", "1.0", sys.executable)
    assert (python.parent.parent / "complete").read_text() == "mindspore==1.0\n"
