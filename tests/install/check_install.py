#!/usr/bin/env python3
"""Installs a build into an empty directory, moves it elsewhere and uses it as a stranger would.

check_install.py CMAKE BUILD_DIRECTORY GENERATOR [--torch] [-D...]: the definitions are passed to the consumer's configuration.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent / "consumer"
ROOT = SOURCES.parent.parent.parent
FILES = {
    "bin/msaccucmp.py",
    "bin/opdump",
    "include/opdump/opdump.h",
    "include/opdump/opdump.hpp",
    "include/opdump/opdump_h5.h",
    "include/opdump/opdump_onnxruntime.h",
    "include/opdump/opdump_read.h",
    "include/opdump/opdump_read.hpp",
    "share/licenses/opdump/LICENSE",
    "share/man/man1/opdump-compare.1",
    "share/man/man1/opdump.1",
}
TORCH_FILES = {
    "include/opdump/opdump_torch.h",
    "lib/opdump/python/opdump/__init__.py",
    "lib/opdump/python/opdump/_core.pyi",
    "lib/opdump/python/opdump/_core.so",
    "lib/opdump/python/opdump/_torch/adapter.py",
    "lib/opdump/python/opdump/_torch/sources/hooks.cc",
    "lib/opdump/python/opdump/_torch/sources/python/python.cc",
    "lib/opdump/python/opdump/inject/sitecustomize.py",
    "lib/opdump/python/opdump/py.typed",
}
SCRIPT = """\
import torch
y = torch.tensor([-1.0, 2.0]).relu()
print(y.tolist())
"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(condition, text):
    if not condition:
        sys.exit(text)


def check_paths_of_libraries(prefix):
    """Every search path is relative, or a directory of the system: nothing points into the build."""
    for path in prefix.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        for found in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", path)):
            for place in found.split(":"):
                check(place.startswith("$ORIGIN") or place.endswith("/torch/lib"), f"{path}: search path {place}")


def write_config(directory, dump):
    config = directory / f"{dump}.json"
    config.write_text(json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": str(directory / dump), "net_name": "net", "iteration": "all",
                                 "saved_data": "full", "input_output": 0, "kernels": [], "support_device": [0]},
        "e2e_dump_settings": {"enable": True}}))
    return config


def check_dump(directory, dump):
    files = sorted(p.name for p in (directory / dump / "rank_0/net/0/0").glob("*.npy"))
    relu = [f for f in files if f.startswith("relu.Default_relu-op0.")]
    check(len(relu) == 2 and ".input.0." in relu[0] and ".output.0." in relu[1], f"{dump}: {files}")
    check((directory / dump / "rank_0/net/0/0/statistic.csv").is_file(), f"{dump}: no statistic.csv")


def check_pkg_config(prefix, work, environment):
    """The same C program by pkg-config, which finds the place from where the file lies."""
    (folder,) = (file.parent for file in prefix.rglob("opdump.pc"))
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "opdump", env=environment | {"PKG_CONFIG_PATH": str(folder)}))
    run("cc", SOURCES / "use.c", "-o", work / "use_pc", *flags)
    libraries = {"LD_LIBRARY_PATH": str(folder.parent)}
    run(work / "use_pc", write_config(work, "use_pc_dump"), env=environment | libraries)
    check_dump(work, "use_pc_dump")


def check_example(cmake, prefix, work, generator, definitions, environment):
    """examples/cpp against the installed tree; it prints what docs/cpp.md shows."""
    run(cmake, "-S", ROOT / "examples/cpp", "-B", work / "cpp", "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", *definitions)
    run(cmake, "--build", work / "cpp")
    done = subprocess.run([work / "cpp/engine", work / "cpp/dumps"], capture_output=True, text=True, env=environment)
    check(done.returncode == 1, f"engine ends with {done.returncode}: {done.stderr}")
    check(f"```text\n{done.stdout}```" in (ROOT / "docs/cpp.md").read_text(), f"docs/cpp.md does not show {done.stdout}")


def main():
    cmake, build, generator, *rest = sys.argv[1:]
    torch = "--torch" in rest
    definitions = [d for d in rest if d.startswith("-D")]
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        run(cmake, "--install", build, "--prefix", work / "staged")
        prefix = (work / "staged").rename(work / "moved here")
        installed = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()}
        missing = (FILES | (TORCH_FILES if torch else set())) - installed
        check(not missing, f"not installed: {sorted(missing)}\ninstalled: {sorted(installed)}")
        check_paths_of_libraries(prefix)

        run(cmake, "-S", SOURCES, "-B", work / "consumer", "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", *definitions)
        run(cmake, "--build", work / "consumer")
        for program in ("use_c", "use_cpp"):
            said = run(work / "consumer" / program, write_config(work, program), env=environment)
            check(re.fullmatch(r"\d+\.\d+\.\d+\n", said), f"{program} printed {said!r}")
            check_dump(work, program)
        check_pkg_config(prefix, work, environment)
        check_example(cmake, prefix, work, generator, definitions, environment)
        listing = run(prefix / "bin/opdump", "ls", work / "use_c", env=environment)
        check("Default/relu-op0" in listing or "rank_0" in listing, f"opdump ls printed {listing!r}")
        if not torch:
            return
        run(work / "consumer/use_torch", env=environment)
        (work / "script.py").write_text(SCRIPT)
        said = run(prefix / "bin/opdump", "run", "--config", write_config(work, "script"), "--", "/usr/bin/python3",
                   work / "script.py", env=environment)
        check(said == "[0.0, 2.0]\n", f"the script printed {said!r}")
        check_dump(work, "script")
        (work / "read.py").write_text("import opdump, sys\nprint(len(opdump.open(sys.argv[1])))\n")
        said = run("/usr/bin/python3", work / "read.py", work / "script",
                   env=environment | {"PYTHONPATH": str(prefix / "lib/opdump/python")})
        check(int(said) > 1, f"the package reads {said!r} operators")


if __name__ == "__main__":
    main()
