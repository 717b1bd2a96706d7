#!/usr/bin/env python3
"""Whether a wheel runs where its name says: check_wheel.py WHEEL

Every library and program in it asks for nothing but glibc of at most the version in the name; recorders also for the libstdc++
of that time and the libraries of PyTorch."""

import io
import pathlib
import re
import sys
import zipfile

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
OURS = {"libopdump.so.0", "libopdump_onnxruntime.so.0", "libopdump_torch.so"}
OF_TORCH = {"libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libgcc_s.so.1"}
LIBSTDCXX = {"GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (8, 0, 0)}  # of gcc 8, which manylinux_2_28 has


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def problems(name: str, elf: ELFFile, glibc: tuple[int, ...]):
    dynamic = elf.get_section_by_name(".dynamic")
    allowed = SYSTEM | OURS | (OF_TORCH if "/prebuilt/" in name else set())
    for tag in dynamic.iter_tags() if dynamic else ():
        if tag.entry.d_tag == "DT_NEEDED" and tag.needed not in allowed:
            yield f"needs {tag.needed}"
    limits = {"GLIBC": glibc, **LIBSTDCXX}
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for library, symbols in section.iter_versions():
                for symbol in symbols:
                    family, _, version = symbol.name.partition("_")
                    if family in limits and numbers(version) > limits[family]:
                        yield f"needs {symbol.name} of {library.name}"


def main() -> int:
    path = pathlib.Path(sys.argv[1])
    glibc = numbers(re.search(r"manylinux_(\d+_\d+)", path.name)[1])
    found, count = [], 0
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            content = wheel.read(name)
            if content[:4] == b"\x7fELF":
                count += 1
                found += [f"{name}: {problem}" for problem in problems(name, ELFFile(io.BytesIO(content)), glibc)]
    print("\n".join(found) or f"{path.name}: {count} programs and libraries need nothing newer than glibc {'.'.join(map(str, glibc))}, "
          f"{path.stat().st_size / 1e6:.1f} MB")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
