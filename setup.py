"""Builds the extensions, their libraries and the program with CMake, and puts them into the package.

The PyTorch adapter is built if this Python can import torch, against that torch. CMAKE_ARGS in the environment adds
arguments to the configuration.
"""

import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    def run(self):
        build, stage = pathlib.Path(self.build_temp).resolve() / "cmake", pathlib.Path(self.build_temp).resolve() / "stage"
        torch = "ON" if importlib.util.find_spec("torch") else "OFF"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        # Everything but the program comes to lie in stage/opdump as it does in the package.
        subprocess.check_call(["cmake", "-S", ROOT, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release",
                               "-DOPDUMP_DEVELOPER=OFF", "-DOPDUMP_PACKAGE=ON", f"-DOPDUMP_TORCH={torch}",
                               f"-DOPDUMP_PYTHON={sys.executable}", f"-DCMAKE_INSTALL_PREFIX={stage}",
                               "-DCMAKE_INSTALL_LIBDIR=opdump/lib", "-DOPDUMP_INSTALL_PYTHONDIR=.",
                               *shlex.split(os.environ.get("CMAKE_ARGS", ""))])
        targets = ["opdump", "opdump_cli", "opdump_bindings", "opdump_python_files"]
        if torch == "ON":
            targets += ["opdump_torch", "opdump_python"]
        subprocess.check_call(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", *targets])
        shutil.rmtree(stage, ignore_errors=True)
        subprocess.check_call(["cmake", "--install", build, "--strip"])
        self._fill(stage, pathlib.Path(self.build_lib).resolve() / "opdump")

    def _fill(self, stage, package):
        # A wheel has no symbolic links: each library goes under the name that it is loaded by.
        for source, name in [*((path, path.name) for path in (stage / "opdump").glob("*.so")), (stage / "bin/opdump", "bin/opdump"),
                             *((path, f"lib/{path.name}") for path in (stage / "opdump/lib").glob("libopdump.so.?")),
                             *((path, f"lib/{path.name}") for path in (stage / "opdump/lib").glob("libopdump_torch.so"))]:
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, package / name)


setup(
    version=re.search(r"project\(opdump VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1],
    ext_modules=[Extension("opdump._core", sources=[])],  # so that the wheel is one of this platform and this Python
    cmdclass={"build_ext": CMakeBuild},
)
