#!/usr/bin/env python3
"""A bare system of what this Debian has installed: host_root.py FOLDER WHEEL PACKAGE...

The files of the packages named, of those that they depend on and of the essential ones, and nothing else of this machine: no compiler and no
repository. It takes seconds and no network, where debootstrap takes minutes. A wheel that is not called manylinux was built for this system:
the libraries that its programs need are there, too. Files of /usr are hard links, where FOLDER lies on the same file system: whoever enters
it must see /usr as read-only, as tools/wheel/try_wheel.sh does."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# Of /etc, what no package brings.
SETTINGS = ("alternatives", "group", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "passwd")
FIELDS = ("Package", "db:Status-Abbrev", "Essential", "Pre-Depends", "Depends", "Provides")


def installed() -> tuple[dict[str, list[list[str]]], set[str]]:
    """What each package and each virtual one needs, a list of alternatives for each need; and the essential packages."""
    lines = subprocess.run(["dpkg-query", "-W", "-f", "\t".join(f"${{{field}}}" for field in FIELDS) + "\n"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    needs: dict[str, list[list[str]]] = {}
    virtual: dict[str, list[list[str]]] = {}
    essential = set()
    for line in lines:
        name, status, is_essential, before, after, provides = line.split("\t")
        if not status.startswith("ii"):
            continue
        needs[name] = [[re.split(r"[ :(]", choice.strip())[0] for choice in need.split("|")] for need in f"{before}, {after}".split(",") if need.strip()]
        if is_essential == "yes":
            essential.add(name)
        for word in provides.split(","):
            if word.strip():
                virtual.setdefault(re.split(r"[ :(]", word.strip())[0], [[name]])
    return virtual | needs, essential


def closure(names: list[str]) -> set[str]:
    needs, essential = installed()
    missing = [name for name in names if name not in needs]
    if missing:
        sys.exit(f"host_root.py: not installed here: {' '.join(missing)}")
    found, todo = set(), [*names, *essential]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for choices in needs[name]:
            todo += [choice for choice in choices if choice in needs][:1]
    return found


def needed(wheel: pathlib.Path) -> list[str]:
    """The packages of the libraries that the programs in a wheel need of this system."""
    if "manylinux" in wheel.name:
        return []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder)
        programs = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        programs = [path for path in programs if "prebuilt" not in path.parts]  # who has PyTorch has what recorders need
        said = subprocess.run(["ldd", *programs], check=False, capture_output=True, text=True).stdout
    found = {path for path in re.findall(r" => (/\S+)", said) if not path.startswith(folder)}
    known = subprocess.run(["dpkg-query", "--search", *found, *(f"/usr{path}" for path in found)], check=False, capture_output=True, text=True).stdout
    return [line.split(":")[0] for line in known.splitlines()]


def listed(packages: set[str]) -> list[pathlib.Path]:
    """The files of packages, with what Python has compiled of them."""
    lists = pathlib.Path("/var/lib/dpkg/info")
    paths = set()
    for package in packages:
        for file in [*lists.glob(f"{package}.list"), *lists.glob(f"{package}:*.list")]:
            paths.update(file.read_text(encoding="utf-8").splitlines())
    compiled = [path for name in paths if name.endswith(".py") for path in pathlib.Path(name).parent.glob(f"__pycache__/{pathlib.Path(name).stem}.*.pyc")]
    return sorted({*(pathlib.Path(path) for path in paths if path not in ("", "/.")), *compiled})


def copy(path: pathlib.Path, root: pathlib.Path) -> None:
    # /bin and /lib are links to folders of /usr.
    target = root / os.path.realpath(path.parent)[1:] / path.name
    if path.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(target):
            target.symlink_to(os.readlink(path))
    elif path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif path.is_file() and not target.exists():  # a file may be missing, as documents are in images of containers
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if not target.is_relative_to(root / "usr"):
                raise OSError
            os.link(path, target)
        except OSError:
            shutil.copy2(path, target)


def link_alternatives(root: pathlib.Path) -> None:
    """Links that update-alternatives made: to what they lead to here, or to another choice, if only that one is in ROOT."""
    records = pathlib.Path("/var/lib/dpkg/alternatives")
    for folder in (pathlib.Path("/usr/bin"), pathlib.Path("/usr/lib"), *pathlib.Path("/usr/lib").glob("*-linux-gnu")):
        for link in folder.iterdir():
            middle = pathlib.Path(os.readlink(link)) if link.is_symlink() else link
            if middle.parent != pathlib.Path("/etc/alternatives"):
                continue
            record = records / middle.name
            words = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
            choices = [os.readlink(middle), *(word for word in words if word.startswith("/") and word != str(link))]
            there = [choice for choice in choices if (root / choice[1:]).is_file()]
            if there and not os.path.lexists(root / str(link)[1:]):
                (root / str(link)[1:]).symlink_to(middle)
                (root / str(middle)[1:]).unlink()
                (root / str(middle)[1:]).symlink_to(there[0])


def main() -> None:
    root, wheel, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    packages = closure([*names, *needed(wheel)])
    for link in ("bin", "sbin", "lib", "lib64"):
        root.mkdir(parents=True, exist_ok=True)
        if os.path.islink(f"/{link}"):
            (root / link).symlink_to(os.readlink(f"/{link}"))
    for path in listed(packages):
        copy(path, root)
    for name in SETTINGS:
        path = pathlib.Path("/etc", name)
        if path.is_dir():
            shutil.copytree(path, root / "etc" / name, symlinks=True, dirs_exist_ok=True)
        elif path.exists():
            shutil.copy2(path, root / "etc")
    link_alternatives(root)
    for name in ("dev", "proc", "sys", "tmp", "root", "var/lib/dpkg"):
        (root / name).mkdir(parents=True, exist_ok=True)
    subprocess.run(["ldconfig", "-r", root], check=True, stderr=subprocess.DEVNULL)
    print(f"host_root.py: {len(packages)} packages", file=sys.stderr)


if __name__ == "__main__":
    main()
