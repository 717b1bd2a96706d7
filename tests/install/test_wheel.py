"""The wheel of tools/build_wheel.sh, if one lies in dist/ or OPDUMP_WHEEL names one: what it asks of a system, and an installation in
a bare one. tests/python/test_wheel.py assembles a wheel of the build that is tested."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "opdump"
BARE = CACHE / "bare/bullseye"
TORCH = CACHE / "torch-site/1.13.1-cp39"  # of PyPI, for the Python of Debian 11


def check(wheel):
    return subprocess.run([sys.executable, ROOT / "tools/wheel/check_wheel.py", wheel], capture_output=True, text=True, check=False)


@pytest.fixture
def wheel():
    found = [pathlib.Path(path) for path in [os.environ.get("OPDUMP_WHEEL")] if path] or sorted((ROOT / "dist").glob("opdump-*-manylinux_*.whl"))
    if not found:
        pytest.skip("no wheel in dist/: tools/build_wheel.sh makes one")
    return found[-1]


def test_it_needs_nothing_but_an_old_glibc(wheel):
    done = check(wheel)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_wheel_may_not_need(tmp_path):
    """A program that was built for the system that tests run on, and modules for different Pythons."""
    wheel = tmp_path / "opdump-0-py3-none-manylinux_2_5_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(os.environ["OPDUMP_BIN"], "opdump/bin/opdump")
        program = pathlib.Path(os.environ["OPDUMP_BIN"]).read_bytes()
        archive.writestr("opdump/lib/libopdump.so.0", program + b'"/home/someone/opdump/src/a.cc":1, sources/b.cc\0')
        for name in ("opdump/_core.cpython-311.so", "opdump/_core.pyi", "opdump/_torch/prebuilt/recorder.cpython-312.so"):
            archive.writestr(name, "")
    done = check(wheel)
    assert done.returncode == 1, done.stdout
    said = done.stdout.splitlines()
    assert "opdump/bin/opdump: needs libstdc++.so.6" in said
    assert any(line.startswith("opdump/bin/opdump: needs GLIBC_2.") and line.endswith(" of libc.so.6") for line in said), said
    assert "opdump/lib/libopdump.so.0: names /home/someone/opdump/src/a.cc" in said
    assert {"no recorder for cpython-311.so", "no _core for cpython-312.so", "no recorder for any PyTorch"} <= set(said)


def test_a_bare_system(wheel):
    """Debian 11 without a compiler: installed by pip, it records, compares and blames, and exits with 2 where it cannot record."""
    if os.geteuid() != 0:
        pytest.skip("only root enters another system")
    for path, remedy in ((BARE, "tools/wheel/try_wheel.sh WHEEL bullseye makes it"), (TORCH, "pip install --target puts torch there")):
        if not (path / "complete").exists():
            pytest.skip(f"no {path}: {remedy}")
    done = subprocess.run([ROOT / "tools/wheel/try_wheel.sh", wheel, "bullseye", f"site:{TORCH}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "== Debian GNU/Linux 11 (bullseye), Python 3.9.2, torch 1.13.1" in done.stdout


@pytest.mark.parametrize(("debootstrap", "reason"), [(None, "debootstrap makes it, and is not installed"),
                                                       ("echo I: retrieving; echo E: no archive >&2; exit 1", "debootstrap failed: E: no archive")])
def test_a_system_that_cannot_be_had(tmp_path, debootstrap, reason):
    """tools/release.sh leaves it out: it is not a wheel that failed."""
    if os.geteuid() != 0:
        pytest.skip("only root makes another system")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "cat", "dirname", "dpkg", "id", "mkdir", "realpath", "rm", "tail"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    if debootstrap:
        (tmp_path / "bin/debootstrap").write_text(f"#!/bin/bash\n{debootstrap}\n")
        (tmp_path / "bin/debootstrap").chmod(0o755)
    done = subprocess.run([shutil.which("bash"), ROOT / "tools/wheel/try_wheel.sh", tmp_path / "opdump.whl", "trixie"], capture_output=True, text=True,
                          check=False, env={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (3, f"try_wheel.sh: no system for trixie: {reason}\n")


def test_every_minor_version_of_torch_has_a_recorder():
    """From 2.1 to the one of the tests, and 1.13."""
    lines = [line.split() for line in (ROOT / "tools/wheel/torch_versions.txt").read_text().splitlines() if not line.startswith("#")]
    newest = int((ROOT / "tools/torch_version.txt").read_text().split(".")[1])
    assert [version.rpartition(".")[0] for version, *_ in lines] == [*(f"2.{minor}" for minor in range(newest, 0, -1)), "1.13"]
    assert all(abis in (["1"], ["0", "1"]) for _, *abis in lines)


def test_the_version_of_a_release(tmp_path):
    """CMakeLists.txt, CHANGELOG.md and a tag agree; here they do."""
    (tmp_path / "tools").mkdir()
    for name in ("CMakeLists.txt", "CHANGELOG.md", "tools/check_version.sh"):
        shutil.copy(ROOT / name, tmp_path / name)

    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    def check_version():
        done = subprocess.run([tmp_path / "tools/check_version.sh"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    git("init")
    git("add", ".")
    git("commit", "-m", "a release")
    status, version = check_version()
    assert status == 0, version
    own = f"v{version.strip()}"
    git("tag", own)
    assert check_version() == (0, version)
    log = (tmp_path / "CHANGELOG.md").read_text()
    entry = next(line for line in log.splitlines() if line.startswith("## "))
    (tmp_path / "CHANGELOG.md").write_text(log.replace(entry, f"## [Unreleased]\n\n{entry}", 1))
    assert check_version() == (1, f'check_version.sh: CHANGELOG.md begins with "## [Unreleased]", and the version is {version}')
    git("tag", "-d", own)
    assert check_version() == (0, version)
    (tmp_path / "CHANGELOG.md").write_text(log.replace(entry, "## [77.0] - 2026-11-30", 1))
    assert check_version() == (1, f'check_version.sh: CHANGELOG.md begins with "## [77.0] - 2026-11-30", and the version is {version}')
    git("tag", "v77.0")
    assert check_version() == (1, f"check_version.sh: this commit is v77.0, and the version is {version}")


def test_both_lists_of_archives_agree():
    """What a wheel is built with, and what pip fetches for a system that lacks it."""
    lines = {name: [line.split() for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
             for name in ("tools/wheel/libraries.txt", "cmake/fetched.txt")}
    of_wheel = {file: digest for _, file, digest in lines["tools/wheel/libraries.txt"]}
    fetched = {address.rpartition("/")[2]: digest for _, digest, address in lines["cmake/fetched.txt"]}
    assert len(of_wheel.keys() & fetched.keys()) == 3
    assert all(fetched[file] == of_wheel[file] for file in of_wheel.keys() & fetched.keys())


@pytest.mark.parametrize(("architecture", "debian"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_what_a_release_makes_of_a_wheel(tmp_path, architecture, debian):
    """The Debian package and the list of what is linked in are of the wheel's architecture."""
    wheel = tmp_path / f"opdump-0.1.0-py3-none-manylinux_2_28_{architecture}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("opdump/bin/opdump", "opdump-0.1.0.data/scripts/msaccucmp.py"):
            program = zipfile.ZipInfo(name)
            program.external_attr = 0o100755 << 16
            archive.writestr(program, "#!python\n")
        archive.writestr("opdump-0.1.0.data/data/share/man/man1/opdump.1", "")
        archive.writestr("opdump-0.1.0.dist-info/METADATA", "Version: 0.1.0\nAuthor: someone\nSummary: what it does\n")
    package = subprocess.run([ROOT / "tools/wheel/make_deb.py", wheel, tmp_path], capture_output=True, text=True, check=True).stdout.strip()
    assert package.endswith(f"/opdump_0.1.0_{debian}.deb")
    control = subprocess.run(["dpkg-deb", "--field", package], capture_output=True, text=True, check=True).stdout
    assert f"Architecture: {debian}\n" in control and "Depends: libc6 (>= 2.28), " in control
    listed = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    assert "./usr/bin/opdump -> ../lib/python3/dist-packages/opdump/bin/opdump" in listed
    script, = (line for line in listed.splitlines() if line.endswith(" ./usr/bin/msaccucmp.py"))
    assert script.startswith("-rwxr-xr-x root/root ") and script.split()[2] == str(len("#!/usr/bin/python3\n"))
    assert "./usr/share/man/man1/opdump.1" in listed
    parts = json.loads(subprocess.run([ROOT / "tools/wheel/sbom.py", wheel, tmp_path], capture_output=True, text=True, check=True).stdout)["components"]
    names = [part["name"] for part in parts]
    assert {"simdjson", "re2", "libstdc++6", "nlohmann-json3-dev"} <= set(names) and len(names) == len(set(names))
    of_debian = {line.split()[2] for line in (ROOT / "tools/wheel/libraries.txt").read_text().splitlines() if f"_{debian}.deb" in line}
    assert len(of_debian) == 3 and of_debian <= {digest["content"] for part in parts for digest in part.get("hashes", [])}


def test_the_packages_of_the_pages_are_named(tmp_path):
    """They are in the program: with their licences, and in the list of parts with the hash of npm's archive."""
    if not pathlib.Path("/usr/share/doc/libhdf5-dev/copyright").exists():
        pytest.skip("no libhdf5-dev, whose licence a wheel has")
    wheel = tmp_path / "opdump-0.1.0-py3-none-manylinux_2_28_x86_64.whl"
    wheel.write_bytes(b"")
    parts = json.loads(subprocess.run([ROOT / "tools/wheel/sbom.py", wheel, tmp_path], capture_output=True, text=True, check=True).stdout)["components"]
    of_pages = {part["name"]: part for part in parts if part["purl"].startswith("pkg:npm/")}
    asked = json.loads((ROOT / "web/package.json").read_text())
    assert asked["dependencies"].keys() <= of_pages.keys() and not asked["devDependencies"].keys() & of_pages.keys()
    assert of_pages["@dagrejs/dagre"]["purl"].startswith("pkg:npm/%40dagrejs/dagre@")
    assert all(digest["alg"] == "SHA-512" and len(digest["content"]) == 128 for part in of_pages.values() for digest in part["hashes"])
    (tmp_path / "tools/licences").mkdir(parents=True)
    (tmp_path / "tools/licences/re2").write_text("of RE2\n")
    made = subprocess.run([ROOT / "tools/wheel/licences.py", tmp_path / "tools", tmp_path / "licences"], capture_output=True, text=True, check=False)
    if "npm is missing" in made.stderr or "npm could not bring" in made.stderr:
        pytest.skip(made.stderr.splitlines()[0])
    assert made.returncode == 0, made.stderr
    there = {path.name: path.read_text() for path in (tmp_path / "licences").iterdir()}
    assert there.keys() == {"re2", "libhdf5", *(name.replace("/", "-") for name in of_pages)}
    assert all("MIT" in there[name.replace("/", "-")] for name in of_pages)
