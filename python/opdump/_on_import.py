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
    """The module that records: opdump._tensorflow while it does, else opdump._attach if it was imported, else None."""
    tensorflow = sys.modules.get("opdump._tensorflow")
    return tensorflow if tensorflow is not None and tensorflow.is_recording() else sys.modules.get("opdump._attach")


def call_after_torch(then):
    call_after("torch", then)


def _start():
    if os.environ.get("OPDUMP_FRAMEWORK", "torch") != "torch" or attached() is not None and attached().is_recording():
        return
    from opdump import _attach

    _attach.start_from_environment()


def _start_tensorflow():
    if os.environ.get("OPDUMP_FRAMEWORK", "tensorflow") != "tensorflow" or attached() is not None and attached().is_recording():
        return
    from opdump import _tensorflow

    _tensorflow.start_from_environment()


def _is_compile_worker():
    """Whether torch.compile has started this process to generate kernels: it runs nothing of the program."""
    return any(word.endswith("torch/_inductor/compile_worker/__main__.py") for word in getattr(sys, "orig_argv", ()))


def _handing_on(execute):
    """Runs MindSpore's body, which reads its configuration once. Its build for CPUs does not take all that a device does."""

    def exec_module(module):
        has_device = any(name.startswith("davinci") for name in os.listdir("/dev"))
        os.environ["MINDSPORE_DUMP_CONFIG"] = config() if has_device else os.environ["OPDUMP_MINDSPORE_CONFIG"]
        if not has_device:
            report_to_run("m")
        execute(module)

    return exec_module


def start_with_framework():
    """Begins recording with the import of torch or TensorFlow, whichever comes first, if the environment names a
    configuration; at once if one is there. OPDUMP_FRAMEWORK names the one for a program that imports both."""
    if os.environ.get("OPDUMP_MINDSPORE_CONFIG"):
        call_after("mindspore", lambda: None, _handing_on)
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
        from opdump import _tensorflow

        return _tensorflow
    import torch  # noqa: F401  (recording hooks a complete torch)

    from opdump import _adapter, _errors

    try:
        from opdump import _attach
    except _adapter.CannotBuild as error:
        raise _errors.make("unsupported", str(error)) from None
    return _attach
