#!/usr/bin/env python3
"""The licences of what is in a wheel besides opdump, one file for each: licences.py TOOLS OUT

TOOLS is the folder of tools/wheel/toolchain.sh, which has those of the libraries. The packages of the pages bring their own."""

import pathlib
import shutil
import subprocess
import sys

from sbom import HERE, packages_of_pages

HDF5 = pathlib.Path("/usr/share/doc/libhdf5-dev/copyright")  # of its headers


def main():
    tools, out = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(tools / "licences", out)
    shutil.copy(HDF5, out / "libhdf5")
    fetched = subprocess.run([HERE.parent / "build_web.sh", "--packages"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for name, _ in packages_of_pages():
        shutil.copy(pathlib.Path(fetched, "node_modules", name, "LICENSE"), out / name.replace("/", "-"))


if __name__ == "__main__":
    main()
