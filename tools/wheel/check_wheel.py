#!/usr/bin/env python3
"""Whether a wheel runs where its name says: check_wheel.py WHEEL

Every library and program in it asks for nothing but glibc of at most the version in the name; recorders also for the libstdc++
of that time and the libraries of PyTorch. None names a source by where it was on the machine that built it, so that another one makes the
same bytes. Each Python that it reads dumps in can record, too. Prints sizes. Needs readelf."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OURS = {"libopdump.so.0", "libopdump_onnxruntime.so.0", "libopdump_torch.so"}
OF_TORCH = {"libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libgcc_s.so.1"}
LIBSTDCXX = {"GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (8, 0, 0)}  # of gcc 8, which manylinux_2_28 has

SOURCE = re.compile(rb"(?<![\w.+/-])/[\w.+/-]+\.(?:cc|cpp|c|hpp|h)\b")


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def problems(name: str, file: pathlib.Path, glibc: tuple[int, ...]):
    said = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", file], env={**os.environ, "LC_ALL": "C"}, check=True,
                          capture_output=True, text=True).stdout
    allowed = SYSTEM | OURS | (OF_TORCH if "/prebuilt/" in name else set())
    for library in re.findall(r"\(NEEDED\) +Shared library: \[(.*)\]", said):
        if "/versioned/" in name:  # it stands for Debian's library of another name
            library = re.sub(r"(\.so)\.[\d.]+$", r"\1", library)
        if library not in allowed:
            yield f"needs {library}"
    for path in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", said):
        if not all(place.startswith("$ORIGIN") for place in path.split(":")):
            yield f"looks for libraries in {path}"
    limits = {"GLIBC": glibc, **LIBSTDCXX}
    library = ""
    for kind, word in re.findall(r"(File|Name): (\S+)", said.partition("Version needs section")[2]):
        if kind == "File":
            library = word
            continue
        family, _, version = word.partition("_")
        if family in limits and numbers(version) > limits[family]:
            yield f"needs {word} of {library}"
    if source := SOURCE.search(file.read_bytes()):
        yield f"names {source[0].decode()}"


def lacks(names: list[str]):
    """A Python that can read and not record, or the other way round."""
    reading = {match[1] for name in names if (match := re.fullmatch(r"opdump/_core\.(.*)", name)) and not name.endswith(".pyi")}
    recording = {match[1] for name in names if (match := re.fullmatch(r"opdump/_torch/prebuilt/recorder\.(.*)", name))}
    yield from (f"no {kind} for {suffix}" for kind, some, others in (("_core", reading, recording), ("recorder", recording, reading))
                for suffix in sorted(others - some))
    if not any(name.endswith("/libopdump_torch.so") for name in names):
        yield "no recorder for any PyTorch"


def main() -> int:
    path = pathlib.Path(sys.argv[1])
    glibc = numbers(re.search(r"manylinux_(\d+_\d+)", path.name)[1])
    programs = []
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        found = list(lacks(wheel.namelist()))
        for entry in wheel.infolist():
            with wheel.open(entry) as content:
                if content.read(4) != b"\x7fELF":
                    continue
            programs.append(entry)
            file = pathlib.Path(wheel.extract(entry, folder))
            found += [f"{entry.filename}: {problem}" for problem in problems(entry.filename, file, glibc)]
    if found or not programs:
        print("\n".join(found) or "no program in it")
        return 1
    for entry in programs:
        print(f"{entry.file_size / 1e6:8.2f} MB  {entry.filename}")
    print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}: {len(programs)} programs and libraries need nothing newer than glibc "
          f"{'.'.join(map(str, glibc))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
