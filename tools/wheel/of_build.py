#!/usr/bin/env python3
"""A wheel of a finished build, for this system and this Python alone: of_build.py BUILD OUT

For tests: it takes seconds where tools/build_wheel.sh takes an hour. Its programs need the libraries of this system, so that it is not called
manylinux. As in a real one, the recorder's library lies under the version of its torch, and the module under that of Python. Prints the wheel."""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WHAT_TORCH = "import torch; print('torch-%s.%s' % tuple(torch.__version__.split('.')[:2]) + '-abi%d' % torch._C._GLIBCXX_USE_CXX11_ABI)"


def main() -> None:
    build, out = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        stage, recorders, licences = (pathlib.Path(folder, name) for name in ("stage", "recorders", "licences"))
        subprocess.run(["cmake", "--install", build, "--prefix", stage, "--strip"], check=True, stdout=subprocess.DEVNULL)
        adapters = stage / "lib/opdump/python/opdump/_torch/adapters"
        version = subprocess.run([sys.executable, "-c", WHAT_TORCH], check=True, capture_output=True, text=True).stdout.strip()
        (recorders / version).mkdir(parents=True)
        shutil.copy(next(adapters.rglob("recorder.so")), recorders / f"recorder{sysconfig.get_config_var('EXT_SUFFIX')}")
        shutil.copy(next(stage.glob("lib*/**/libopdump_torch.so")), recorders / version)
        shutil.rmtree(adapters)
        licences.mkdir()
        (licences / "none").write_text("none\n")
        platform = sysconfig.get_platform().replace("-", "_")
        subprocess.run([sys.executable, HERE / "assemble.py", stage, recorders, platform, licences, out], check=True)


if __name__ == "__main__":
    main()
