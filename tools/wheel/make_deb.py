#!/usr/bin/env python3
"""A Debian package of a wheel: make_deb.py WHEEL OUT

The package lies where every Python 3 of the system finds it, with the program in it; /usr/bin has a link. The same wheel gives the same
bytes. Needs dpkg-deb."""

import email
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

EPOCH = "1577836800"  # as the files of the wheel: 2020-01-01
CONTROL = """\
Package: opdump
Version: {version}
Architecture: {architecture}
Maintainer: {author} <opdump@localhost>
Section: devel
Priority: optional
Depends: libc6 (>= {glibc}), python3 (>= 3.9)
Recommends: python3-numpy
Suggests: python3-torch, python3-pandas, python3-h5py
Description: {summary}
 opdump records what the operators of a neural network read and write, and names the
 first one whose result is wrong.
"""


def place(name: str) -> str:
    """Where a file of the wheel belongs."""
    top, _, rest = name.partition("/")
    if top.endswith(".dist-info"):
        return f"usr/share/doc/opdump/{pathlib.Path(name).name}" if rest.startswith("licenses/") else f"usr/lib/python3/dist-packages/{name}"
    if top.endswith(".data"):
        kind, _, path = rest.partition("/")
        return f"usr/bin/{path}" if kind == "scripts" else f"usr/{path}"
    return f"usr/lib/python3/dist-packages/{name}"


def main() -> None:
    wheel, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    glibc, architecture = re.search(r"manylinux_(\d+_\d+)_(\w+)\.whl", wheel.name).groups()
    debian = {"x86_64": "amd64", "aarch64": "arm64"}[architecture]
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        root = pathlib.Path(folder) / "opdump"
        for entry in archive.infolist():
            path = root / place(entry.filename)
            path.parent.mkdir(parents=True, exist_ok=True)
            content = archive.read(entry)
            path.write_bytes(content.replace(b"#!python", b"#!/usr/bin/python3", 1) if content.startswith(b"#!python") else content)
            path.chmod(0o755 if entry.external_attr >> 16 & 0o100 else 0o644)
        facts = email.message_from_bytes(archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))))
        (root / "usr/bin").mkdir(exist_ok=True)
        (root / "usr/bin/opdump").symlink_to("../lib/python3/dist-packages/opdump/bin/opdump")
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(CONTROL.format(version=facts["Version"], architecture=debian, author=facts["Author"],
                                                            glibc=glibc.replace("_", "."), summary=facts["Summary"]))
        for path in [root, *root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (int(EPOCH),) * 2, follow_symlinks=False)
        target = out / f"opdump_{facts['Version']}_{debian}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, target], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    print(target)


if __name__ == "__main__":
    main()
