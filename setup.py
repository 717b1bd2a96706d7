"""Builds the extensions, their libraries and the program with CMake, and puts them into the package.

The PyTorch adapter is built if this Python can import torch, against that torch. Two variables of the environment matter:
CMAKE_ARGS adds arguments to the configuration; OPDUMP_BUILD_DIR names a finished build that is taken instead.
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
from setuptools.errors import ExecError

ROOT = pathlib.Path(__file__).resolve().parent


def build(directory):
    has_torch = importlib.util.find_spec("torch") is not None
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    if importlib.util.find_spec("pybind11"):  # of an isolated build
        import pybind11

        generator.append(f"-Dpybind11_DIR={pybind11.get_cmake_dir()}")
    subprocess.check_call(["cmake", "-S", ROOT, "-B", directory, *generator, "-DCMAKE_BUILD_TYPE=Release",
                           "-DOPDUMP_DEVELOPER=OFF", "-DOPDUMP_PACKAGE=ON", f"-DOPDUMP_TORCH={'ON' if has_torch else 'OFF'}",
                           f"-DOPDUMP_PYTHON={sys.executable}", *shlex.split(os.environ.get("CMAKE_ARGS", ""))])
    subprocess.check_call(["cmake", "--build", directory, "--parallel", str(os.cpu_count())])  # what is installed, and no more


class CMakeBuild(build_ext):
    def run(self):
        if self.inplace:  # pip install --editable
            raise ExecError("opdump has no editable installation; build it by ./build.sh and set PYTHONPATH to build/release/python")
        if not shutil.which("cmake"):
            raise ExecError("CMake is not installed; setup.sh, beside this file, names the packages that the build needs")
        temporary = pathlib.Path(self.build_temp).resolve()
        directory = os.environ.get("OPDUMP_BUILD_DIR") or temporary / "cmake"
        if "OPDUMP_BUILD_DIR" not in os.environ:
            build(directory)
        stage = temporary / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        subprocess.check_call(["cmake", "--install", directory, "--prefix", stage, "--strip"])
        package = pathlib.Path(self.build_lib).resolve() / "opdump"
        # A wheel has no symbolic links: each library goes under the name that it is loaded by.
        for pattern, place in (("lib/opdump/python/opdump/*.so", "."), ("bin/opdump", "bin"), ("lib/**/libopdump.so.?", "lib"),
                               ("lib/**/libopdump_onnxruntime.so.?", "lib"), ("lib/**/libopdump_torch.so", "lib"),
                               ("lib/**/libopdump_mpi.so", "lib"), ("lib/**/libascendcl.so", "lib")):
            for source in stage.glob(pattern):
                (package / place).mkdir(parents=True, exist_ok=True)
                shutil.copy(source, package / place)
        for tree in ("_torch/adapters", "_torch/sources", "_tensorflow/sources"):  # the recorder, and what others are built from
            if (stage / "lib/opdump/python/opdump" / tree).exists():
                shutil.copytree(stage / "lib/opdump/python/opdump" / tree, package / tree, dirs_exist_ok=True)


setup(
    version=re.search(r"project\(opdump VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1],
    ext_modules=[Extension("opdump._core", sources=[])],  # so that the wheel is one of this platform and this Python
    cmdclass={"build_ext": CMakeBuild},
)
