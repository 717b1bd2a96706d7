"""Every Python under `opdump run` loads this file, because its directory is first in PYTHONPATH."""

import atexit
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_packages = os.path.dirname(os.path.dirname(_here))


class _OnlyOpdump:
    """Finds the package, and nothing that lies beside it: those packages may be for another Python."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> "importlib.machinery.ModuleSpec | None":
        if name != "opdump":
            return None
        package = os.path.dirname(_here)
        return importlib.util.spec_from_file_location(name, os.path.join(package, "__init__.py"), submodule_search_locations=[package])


if _packages not in sys.path:  # else pip has put it where this Python looks, behind its own library
    if os.path.basename(_packages) in ("site-packages", "dist-packages"):  # of another environment, as pipx makes
        sys.meta_path.append(_OnlyOpdump)
    else:
        sys.path.insert(1, _packages)


def _run_hidden_sitecustomize() -> None:
    """Runs the sitecustomize that this file hides, if there is one."""
    for directory in sys.path:
        if os.path.abspath(directory or ".") == _here:
            continue
        path = os.path.join(directory, "sitecustomize.py")
        if os.path.isfile(path):
            loader = importlib.machinery.SourceFileLoader("sitecustomize", path)
            if spec := importlib.util.spec_from_loader("sitecustomize", loader):
                loader.exec_module(importlib.util.module_from_spec(spec))
            return


def _advise() -> None:
    """Gives advice if a missing module ended the program."""
    error = getattr(sys, "last_value", None)
    if isinstance(error, (ImportError, AttributeError)):
        from opdump import _compat
        from opdump._stderr import print_line

        if advice := _compat.advise(error):
            print_line(advice)


try:
    atexit.register(_advise)
    from opdump import _on_import

    _on_import.start_with_framework()
    if os.environ.get("OPDUMP_COMPAT"):
        from opdump import _compat

        _compat.install(os.environ["OPDUMP_COMPAT"].split(","))
except Exception as _error:  # the program must start whatever happens to us
    print(f"opdump: nothing is recorded: {_error}", file=sys.stderr)
_run_hidden_sitecustomize()
