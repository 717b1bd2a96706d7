"""Starts recording when a program has imported torch. A program that never imports torch pays nothing.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

import os
import sys

from opdump._imports import Finder, call_after, report_to_run  # noqa: F401


def config():
    """The configuration file named by the environment, or None."""
    return os.environ.get("OPDUMP_CONFIG") or os.environ.get("MINDSPORE_DUMP_CONFIG") or None


def attached():
    """The module opdump._attach if it was imported, else None."""
    return sys.modules.get("opdump._attach")


def call_after_torch(then):
    call_after("torch", then)


def _start():
    from opdump import _attach

    _attach.start_from_environment()


def start_with_torch():
    """Begins recording with the import of torch if the environment names a configuration; at once if torch is there."""
    if config() is None or any(isinstance(f, Finder) and f.then is _start for f in sys.meta_path):
        return
    # Children that record belong to one run, even if this process never records.
    os.environ.setdefault("OPDUMP_RUN_ID", os.urandom(8).hex())
    if attached() is None:
        call_after_torch(_start)
