"""Starts recording at the moment a program has imported torch, and not before: a program that never does pays nothing.

Only the standard library is used here, and little of it, because every Python process under `opdump run` loads this file.
"""

import os
import sys


def config():
    """The configuration file named by the environment, or None."""
    return os.environ.get("OPDUMP_CONFIG") or os.environ.get("MINDSPORE_DUMP_CONFIG") or None


def attached():
    """The module opdump._attach if it is in use, else None."""
    return sys.modules.get("opdump._attach")


class _TorchFinder:
    """Finds torch as the finders behind it do, and calls `then` when its module body has run."""

    def __init__(self, then):
        self.then = then

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _run_safely(self.then)

        spec.loader.exec_module = exec_module
        return spec


def _run_safely(then):
    """What fails in us must not fail the program's import. SystemExit passes: the configuration is wrong."""
    try:
        then()
    except Exception as error:
        print(f"opdump: nothing is recorded: {error}", file=sys.stderr)


def call_after_torch(then):
    """With the import of torch, or at once if torch is there."""
    if "torch" in sys.modules:
        _run_safely(then)
    else:
        sys.meta_path.insert(0, _TorchFinder(then))


def tell_run():
    """For `opdump run`: the program asked for a dump, which is on disk whenever it ends."""
    if path := os.environ.get("OPDUMP_RUN_REPORT"):
        with open(path, "a", encoding="ascii") as report:
            report.write("+-")


def _start():
    from opdump import _attach

    _attach.start_from_environment()


def start_with_torch():
    """Begins recording with the import of torch if the environment names a configuration; at once if torch is there."""
    if config() is None or any(isinstance(f, _TorchFinder) and f.then is _start for f in sys.meta_path):
        return
    # Children that record are of one run, also if this process never does.
    os.environ.setdefault("OPDUMP_RUN_ID", os.urandom(8).hex())
    if attached() is None:
        call_after_torch(_start)
