"""The command `opdump`, for Python's way to start programs: the program lies in the package, in a build or in a prefix."""

import importlib.util
import os
import pathlib
import signal
import sys

_PACKAGE = pathlib.Path(__file__).resolve().parent


def find() -> pathlib.Path:
    """The program. Raises SystemExit if it is not there."""
    for folder in (_PACKAGE, _PACKAGE.parents[1], _PACKAGE.parents[3]):  # a wheel, a build, PREFIX/lib/opdump/python/opdump
        if (program := folder / "bin" / "opdump").is_file():
            return program
    raise SystemExit(f"opdump: the program is not beside the package in {_PACKAGE}: install opdump again")


def tell_hdf5() -> None:
    """Names the library of h5py, if that is installed: the system may have none."""
    spec = importlib.util.find_spec("h5py")
    if spec is None or spec.origin is None:
        return
    for library in pathlib.Path(spec.origin).parents[1].glob("h5py.libs/libhdf5-*.so*"):  # and not libhdf5_hl
        os.environ.setdefault("OPDUMP_HDF5", str(library))


def main() -> None:
    if importlib.util.find_spec("torch") and "OPDUMP_PYTHON" not in os.environ:
        # Operators run again here, also if this environment is not activated. It is not what the user has chosen.
        os.environ["OPDUMP_PYTHON"] = os.environ["OPDUMP_OWN_PYTHON"] = sys.executable
    tell_hdf5()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and so would opdump and what it runs: `opdump ls dump | head`
    os.execv(find(), ["opdump", *sys.argv[1:]])
