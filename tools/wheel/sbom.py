#!/usr/bin/env python3
"""What is in a wheel besides opdump, as CycloneDX: sbom.py WHEEL TOOLS >FILE

TOOLS is the folder of tools/wheel/toolchain.sh. Versions come from tools/wheel/libraries.txt, from the packages whose headers were
compiled in, from those of PyPI that it installed, and from web/package-lock.json."""

import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = ("nlohmann-json3-dev", "libcli11-dev", "libhwy-dev", "libprotozero-dev", "libhdf5-dev", "libxxhash-dev")


def component(name, version, url, digest=None):
    found = {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}
    if digest:
        found["hashes"] = [{"alg": f"SHA-{len(digest) * 4}", "content": digest}]
    return found


def linked(architecture):
    """What libraries.txt names: archives of Debian's source packages, Debian's libstdc++, of whose headers templates come, and re2's tables."""
    for line in (HERE / "libraries.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, file, digest = line.split()
        if file.endswith(".deb") and not file.endswith(f"_{architecture}.deb"):
            continue
        version = re.sub(r"(\.orig.*|_[a-z0-9]+\.deb)$", "", file.partition("_")[2])
        kind = "" if file.endswith(".deb") else "&arch=source"
        yield component(name.partition("=")[0], version, f"pkg:deb/debian/{name.partition('=')[0]}@{version}?distro=debian{kind}", digest)


def headers():
    for name in HEADERS:
        version = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], check=True, capture_output=True, text=True).stdout
        yield component(name, version, f"pkg:deb/debian/{name}@{version}?distro=debian")


def of_pypi(tools):
    for info in sorted((tools / "venv").glob("lib/python3*/site-packages/*.dist-info")):
        name, _, version = info.name[:-len(".dist-info")].partition("-")
        if name in ("ziglang", "pybind11"):  # its libc++, and headers
            yield component(name, version, f"pkg:pypi/{name}@{version}")


def packages_of_pages():
    """(name, what the lock file says of it) of each that the pages contain."""
    lock = json.loads((HERE.parents[1] / "web/package-lock.json").read_text(encoding="utf-8"))
    for place, facts in sorted(lock["packages"].items()):
        if place and not facts.get("dev"):
            yield place.removeprefix("node_modules/"), facts


def in_pages():
    for name, facts in packages_of_pages():
        digest = base64.b64decode(facts["integrity"].removeprefix("sha512-")).hex()
        yield component(name, facts["version"], f"pkg:npm/{urllib.parse.quote(name)}@{facts['version']}", digest)


def main():
    wheel, tools = map(pathlib.Path, sys.argv[1:])
    version = wheel.name.split("-")[1]
    described = component("opdump", version, f"pkg:pypi/opdump@{version}", hashlib.sha256(wheel.read_bytes()).hexdigest())
    described["type"] = "application"
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[re.search(r"manylinux_\d+_\d+_(\w+)\.whl", wheel.name)[1]]
    parts = [*linked(architecture), *headers(), *of_pypi(tools), *in_pages()]
    print(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": described}, "components": parts,
                      "dependencies": [{"ref": described["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}]}, indent=2))


if __name__ == "__main__":
    main()
