"""A wheel of the build that is tested, in a system of this machine's own packages without a compiler, a header or the repository: it records,
compares, blames and reports, and exits with 2 where it cannot record. test_wheel.py tries the wheel of tools/build_wheel.sh."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / "tools/wheel"
BUILD = pathlib.Path(os.environ["OPDUMP_BIN"]).parent.parent
PACKAGES = ("python3-torch", "python3-numpy")


def succeeds(*words):
    try:
        return subprocess.run([str(word) for word in words], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture(autouse=True)
def _what_it_takes():
    if os.geteuid() != 0 or not succeeds("unshare", "--mount", "true"):
        pytest.skip("only root enters another system")
    if not succeeds("dpkg-query", "-W", *PACKAGES):
        pytest.skip(f"not of Debian's packages: {' '.join(PACKAGES)}")
    if not succeeds(sys.executable, "-c", "import torch; assert torch.__file__.startswith('/usr/lib/python3/dist-packages/')"):
        pytest.skip("this Python has another torch than Debian's")


def test_a_system_of_the_packages_of_this_one(tmp_path):
    made = subprocess.run([sys.executable, TOOLS / "of_build.py", BUILD, tmp_path], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    wheel = made.stdout.strip()
    done = subprocess.run([TOOLS / "try_wheel.sh", wheel, "host", *(f"debian:{name}" for name in PACKAGES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "\nrecorder    of the package, for torch 1." in done.stdout
    assert "nothing can be recorded, and the program was not run" in done.stderr


def test_what_is_in_such_a_system(tmp_path):
    """No more than packages that were asked for need, and of the libraries of a wheel only those that are not in it."""
    (tmp_path / "opdump-0-py3-none-manylinux_2_28_x86_64.whl").write_bytes(b"")
    root = tmp_path / "root"
    subprocess.run([sys.executable, TOOLS / "host_root.py", root, tmp_path / "opdump-0-py3-none-manylinux_2_28_x86_64.whl", "python3"], check=True,
                   stderr=subprocess.DEVNULL)
    said = subprocess.run(["chroot", root, "/usr/bin/python3", "-c", "import json, sys; print(sys.version_info[:2])"], capture_output=True, text=True,
                          check=True)
    assert said.stdout == f"{sys.version_info[:2]}\n"
    there = {path.name for path in (root / "usr/bin").iterdir()}
    assert {"awk", "bash", "ls", "python3"} <= there and not {"cc", "c++", "g++", "clang++", "cmake", "ninja"} & there
    assert not (root / "usr/lib/python3/dist-packages/torch").exists() and not (root / ROOT.relative_to("/")).exists()
    assert not list(root.glob("usr/lib/*/libsimdjson*")) and not list(root.glob("usr/lib/*/libre2*"))
    refused = subprocess.run([sys.executable, TOOLS / "host_root.py", tmp_path / "other", tmp_path / "none-manylinux.whl", "no-such-package"],
                             capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "host_root.py: not installed here: no-such-package\n")
