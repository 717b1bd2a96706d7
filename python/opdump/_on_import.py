"""Starts recording when a program has imported torch or TensorFlow. A program that imports neither pays nothing.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

import os
import sys

from opdump import _stderr
from opdump._imports import Finder, call_after, report_to_run  # noqa: F401


def config():
    """The configuration file named by the environment, or None."""
    return os.environ.get("OPDUMP_CONFIG") or os.environ.get("MINDSPORE_DUMP_CONFIG") or None


def attached():
    """The module that records: opdump._tensorflow.attach while it does, else opdump._torch.attach if it was imported, else None."""
    tensorflow = sys.modules.get("opdump._tensorflow.attach")
    return tensorflow if tensorflow is not None and tensorflow.is_recording() else sys.modules.get("opdump._torch.attach")


def call_after_torch(then):
    call_after("torch", then)


def _start():
    if os.environ.get("OPDUMP_FRAMEWORK", "torch") != "torch" or attached() is not None and attached().is_recording():
        return
    from opdump._torch import attach

    attach.start_from_environment()


def _start_tensorflow():
    if os.environ.get("OPDUMP_FRAMEWORK", "tensorflow") != "tensorflow" or attached() is not None and attached().is_recording():
        return
    from opdump._tensorflow import attach

    attach.start_from_environment()


def _is_compile_worker():
    """Whether torch.compile has started this process to generate kernels: it runs nothing of the program."""
    return any(word.endswith("torch/_inductor/compile_worker/__main__.py") for word in getattr(sys, "orig_argv", ()))


def start_with_framework():
    """Begins recording with the import of torch or TensorFlow, whichever comes first, if the environment names a
    configuration; at once if one is there. OPDUMP_FRAMEWORK names the one for a program that imports both."""
    if _is_compile_worker() or config() is None or any(isinstance(f, Finder) and f.then is _start for f in sys.meta_path):
        return
    _stderr.keep()
    # Children that record belong to one run, even if this process never records.
    os.environ.setdefault("OPDUMP_RUN_ID", os.urandom(8).hex())
    if attached() is None:
        call_after_torch(_start)
        call_after("tensorflow", _start_tensorflow)


def recorder():
    """The module that records the framework of this program: TensorFlow if only that is imported, else torch."""
    only_tensorflow = "tensorflow" in sys.modules and "torch" not in sys.modules
    if os.environ.get("OPDUMP_FRAMEWORK", "tensorflow" if only_tensorflow else "torch") == "tensorflow":
        from opdump._tensorflow import attach

        return attach
    import torch  # noqa: F401  (recording hooks a complete torch)

    from opdump import _building, _errors

    try:
        from opdump._torch import attach
    except _building.CannotBuild as error:
        raise _errors.make("unsupported", str(error)) from None
    return attach
