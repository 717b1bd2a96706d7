#!/usr/bin/env python3
"""A wheel of an installed tree: assemble.py PREFIX RECORDERS PLATFORM LICENCES OUT

One wheel serves every Python that has a module _core in PREFIX. The same input gives the same bytes."""

import base64
import hashlib
import pathlib
import re
import sys
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("libopdump.so.0", "libopdump_read.so.0", "libopdump_onnxruntime.so.0", "libascendcl.so")


def files_of(prefix: pathlib.Path, recorders: pathlib.Path):
    """(name in the wheel, file)"""
    package = prefix / "lib/opdump/python"
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(package)), path
    yield "opdump/bin/opdump", prefix / "bin/opdump"
    for name in LIBRARIES:
        yield f"opdump/lib/{name}", next(prefix.glob(f"lib*/**/{name}"))
    for path in sorted(recorders.rglob("*.so")):
        yield f"opdump/_torch/prebuilt/{path.relative_to(recorders)}", path


def metadata(project: dict, version: str) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}",
             f"License-Expression: {project['license']['text']}", "License-File: LICENSE", "License-File: THIRD_PARTY",
             f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    lines += [f"Author: {author['name']}" for author in project["authors"]]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    lines += [f"Keywords: {','.join(project['keywords'])}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {requirement} ; extra == '{extra}'" for requirement in requirements]
    return "\n".join(lines) + "\n\n" + (ROOT / project["readme"]).read_text(encoding="utf-8")


def third_party(folder: pathlib.Path) -> str:
    """The licences of what is linked into the programs."""
    return "\n\n".join(f"==== {path.name}\n\n{path.read_text(encoding='utf-8', errors='replace')}" for path in sorted(folder.iterdir()))


class Wheel:
    def __init__(self, path: pathlib.Path, info: str) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._info, self._records = info, []

    def add(self, name: str, content: bytes, is_program: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if is_program else 0o100644) << 16
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._records.append(f"{name},sha256={digest},{len(content)}")

    def close(self) -> None:
        self.add(f"{self._info}/RECORD", ("\n".join([*self._records, f"{self._info}/RECORD,,"]) + "\n").encode())
        self._zip.close()


def main() -> None:
    prefix, recorders, platform, licences, out = (pathlib.Path(word) if i != 2 else word for i, word in enumerate(sys.argv[1:]))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(r"project\(opdump VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    info, data = f"opdump-{version}.dist-info", f"opdump-{version}.data"
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"opdump-{version}-py3-none-{platform}.whl"
    wheel = Wheel(path, info)
    for name, file in files_of(prefix, recorders):
        wheel.add(name, file.read_bytes(), name == "opdump/bin/opdump")
    script = (ROOT / "python/msaccucmp.py").read_bytes()
    wheel.add(f"{data}/scripts/msaccucmp.py", re.sub(rb"^#!.*", b"#!python", script), True)
    for place in ("man/man1/*", "bash-completion/completions/*", "zsh/site-functions/*", "fish/vendor_completions.d/*"):
        for page in sorted(prefix.glob(f"share/{place}")):
            wheel.add(f"{data}/data/{page.relative_to(prefix)}", page.read_bytes())
    wheel.add(f"{info}/METADATA", metadata(project, version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: opdump\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n".encode())
    scripts = "".join(f"{name} = {target}\n" for name, target in project["scripts"].items())
    wheel.add(f"{info}/entry_points.txt", f"[console_scripts]\n{scripts}".encode())
    wheel.add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.add(f"{info}/licenses/THIRD_PARTY", third_party(licences).encode())
    wheel.close()
    print(path)


if __name__ == "__main__":
    main()
