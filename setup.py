"""Builds the extensions, their libraries and the program with CMake, and puts them into the package.

The PyTorch adapter is built if this Python can import torch, against that torch. Libraries that the system lacks are fetched, as
cmake/fetched.txt says. Three variables of the environment matter: CMAKE_ARGS adds arguments to the configuration; OPDUMP_BUILD_DIR names a
finished build that is taken instead; OPDUMP_JOBS says how many compilers run at once.
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
                           "-DOPDUMP_DEVELOPER=OFF", "-DOPDUMP_PACKAGE=ON", "-DOPDUMP_FETCH=ON", f"-DOPDUMP_TORCH={'ON' if has_torch else 'OFF'}",
                           f"-DOPDUMP_PYTHON={sys.executable}", *shlex.split(os.environ.get("CMAKE_ARGS", ""))])
    jobs = os.environ.get("OPDUMP_JOBS") or str(os.cpu_count())
    subprocess.check_call(["cmake", "--build", directory, "--parallel", jobs])  # what is installed, and no more


def replace_by_link(path, target):
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.symlink_to(target)


def install_editable(directory):
    """What is built beside the sources of the package, as links that git does not see. The program is a copy: it finds the package from where
    it lies."""
    package = ROOT / "python/opdump"
    for name in ("_torch/adapters", "_torch/sources", "_tensorflow/sources"):
        if (directory / "python/opdump" / name).exists():
            replace_by_link(package / name, directory / "python/opdump" / name)
    for module in (directory / "python/opdump").glob("*.so"):
        replace_by_link(package / module.name, module)
    replace_by_link(package / "lib", directory / "lib")
    (package / "bin").mkdir(exist_ok=True)
    (package / "bin/opdump").unlink(missing_ok=True)  # it may be running
    shutil.copy(directory / "bin/opdump", package / "bin/opdump")


class CMakeBuild(build_ext):
    def run(self):
        if not shutil.which("cmake"):
            raise ExecError("CMake is not installed; setup.sh, beside this file, names the packages that the build needs")
        temporary = pathlib.Path(self.build_temp).resolve()
        directory = pathlib.Path(os.environ.get("OPDUMP_BUILD_DIR") or (ROOT / "build/editable" if self.inplace else temporary / "cmake"))
        if "OPDUMP_BUILD_DIR" not in os.environ:
            build(directory)
        if self.inplace:  # pip install --editable
            install_editable(directory.resolve())
            return
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

    def get_outputs(self):
        return [] if self.inplace else super().get_outputs()

    def get_output_mapping(self):
        return {} if self.inplace else super().get_output_mapping()


setup(
    version=re.search(r"project\(opdump VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1],
    ext_modules=[Extension("opdump._core", sources=[])],  # so that the wheel is one of this platform and this Python
    cmdclass={"build_ext": CMakeBuild},
)
