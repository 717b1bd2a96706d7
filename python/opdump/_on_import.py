"""Starts recording when a program has imported torch. A program that never imports torch pays nothing.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

import os
import sys


def config():
    """The configuration file named by the environment, or None."""
    return os.environ.get("OPDUMP_CONFIG") or os.environ.get("MINDSPORE_DUMP_CONFIG") or None


def attached():
    """The module opdump._attach if it was imported, else None."""
    return sys.modules.get("opdump._attach")


class _Finder:
    """Finds one module through the finders after it, and calls `then` when the module's body has run."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
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
    """Keeps failures of opdump out of the program's import. SystemExit propagates: the configuration is wrong."""
    try:
        then()
    except Exception as error:
        report_to_run("!")
        print(f"opdump: nothing is recorded: {error}", file=sys.stderr)


def call_after(name, then):
    """Calls it after the import of the module, or at once if that is imported."""
    if name in sys.modules:
        _run_safely(then)
    else:
        sys.meta_path.insert(0, _Finder(name, then))


def call_after_torch(then):
    call_after("torch", then)


def report_to_run(marks):
    """Reports to `opdump run`: "+" a recording has begun, "-" it is on disk, "!" it could not begin and has said why."""
    if path := os.environ.get("OPDUMP_RUN_REPORT"):
        with open(path, "a", encoding="ascii") as report:
            report.write(marks)


def _start():
    from opdump import _attach

    _attach.start_from_environment()


def start_with_torch():
    """Begins recording with the import of torch if the environment names a configuration; at once if torch is there."""
    if config() is None or any(isinstance(f, _Finder) and f.then is _start for f in sys.meta_path):
        return
    # Children that record belong to one run, even if this process never records.
    os.environ.setdefault("OPDUMP_RUN_ID", os.urandom(8).hex())
    if attached() is None:
        call_after_torch(_start)
