"""Starts recording when a program has imported torch, TensorFlow or Flax. A program that imports none of them pays nothing.

This file uses only a small part of the standard library, because every Python process under `opdump run` loads it.
"""

from __future__ import annotations

import os
import sys

from opdump import _stderr
from opdump._imports import Finder, call_after, report_to_run

TYPE_CHECKING = False  # the module typing costs more than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opdump._recorder import Recorder
    from opdump._torch.attach import Attachment


def config() -> str | None:
    """The configuration file named by the environment, or None."""
    return os.environ.get("OPDUMP_CONFIG") or os.environ.get("MINDSPORE_DUMP_CONFIG") or None


def attachment_of_torch() -> Attachment | None:
    """None if nothing has been recorded in this process."""
    return getattr(sys.modules.get("opdump._torch.attach"), "attachment", None)


def attached() -> Recorder | None:
    """What records: the attachment of TensorFlow or Flax while it does, else that of torch, if there is one."""
    for name in ("opdump._tensorflow.attach", "opdump._jax.attach"):
        other: Recorder | None = getattr(sys.modules.get(name), "attachment", None)
        if other is not None and other.is_recording():
            return other
    return attachment_of_torch()


def _is_recording() -> bool:
    recorder = attached()
    return recorder is not None and recorder.is_recording()


def _start() -> None:
    if os.environ.get("OPDUMP_FRAMEWORK", "torch") != "torch" or _is_recording():
        return
    _attachment_of("opdump._torch.attach").start_from_environment()


def _start_tensorflow() -> None:
    if os.environ.get("OPDUMP_FRAMEWORK", "tensorflow") != "tensorflow" or _is_recording():
        return
    _attachment_of("opdump._tensorflow.attach").start_from_environment()


def _watch_jax() -> None:
    """Before the program takes functions from JAX: what it compiles is seen from its first call on."""
    if os.environ.get("OPDUMP_FRAMEWORK", "jax") == "jax":
        _attachment_of("opdump._jax.attach").install()


def _start_flax() -> None:
    if os.environ.get("OPDUMP_FRAMEWORK", "jax") != "jax" or _is_recording():
        return
    _attachment_of("opdump._jax.attach").start_from_environment()


def _attachment_of(name: str) -> Any:
    """What records, of a module. Without a recorder, a program that `opdump run` has started ends, unless it is to run in any
    case. Most have ended before they began: see _end_unless_recorded."""
    import importlib

    from opdump import _building

    try:
        return importlib.import_module(name).attachment
    except _building.CannotBuild as error:
        if "OPDUMP_RUN_REPORT" not in os.environ or os.environ.get("OPDUMP_BEST_EFFORT"):
            raise
        _say_refusal(str(error), "the program was ended where it imports torch, TensorFlow or Flax")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        _end_interrupted()


def _say_refusal(reason: str, what: str) -> None:
    report_to_run("!")
    _stderr.print_line(f"nothing can be recorded, and {what}: {reason} (--best-effort runs it without opdump; opdump doctor says what "
                       "is missing)")


def _end_interrupted() -> None:
    import signal

    report_to_run("!")
    _stderr.print_line("interrupted before the program began")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it ends as one that is interrupted, without the story of an import
    os.kill(os.getpid(), signal.SIGINT)


def _end_unless_recorded() -> None:
    """Ends a program that `opdump run` has started, before it begins, if nothing can record it."""
    if "OPDUMP_RUN_REPORT" not in os.environ or os.environ.get("OPDUMP_BEST_EFFORT") or os.environ.get("OPDUMP_FRAMEWORK", "torch") != "torch":
        return
    if "OPDUMP_KNOWN_RECORDER" in os.environ:  # the process that started this one has asked
        return
    from opdump import _before

    try:
        reason = _before.why_not(_before.command())
    except OSError:  # the program's folder is gone, say; its import of torch asks again
        return
    except KeyboardInterrupt:
        _end_interrupted()
        return
    if reason is not None:
        _say_refusal(reason, "the program was not run")
        os._exit(2)  # no program has begun that could have something to finish


def _is_compile_worker() -> bool:
    """Whether torch.compile has started this process to generate kernels: it runs nothing of the program."""
    return any(word.endswith("torch/_inductor/compile_worker/__main__.py") for word in getattr(sys, "orig_argv", ()))


def _make_linked_folder(link: str) -> None:
    """Makes the folder whose path MindSpore does not take as it is: `opdump run` gives it a link instead."""
    if os.path.islink(link):
        os.makedirs(os.path.realpath(link), exist_ok=True)


def _handing_on(execute: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Runs MindSpore's body, which reads its configuration once. Its build for CPUs does not take all that a device does."""

    def exec_module(module: Any) -> None:
        has_device = any(name.startswith("davinci") for name in os.listdir("/dev"))
        given = config() if has_device else os.environ["OPDUMP_MINDSPORE_CONFIG"]
        if given is not None:
            os.environ["MINDSPORE_DUMP_CONFIG"] = given
        if not has_device:
            report_to_run("m")
            _make_linked_folder(os.path.join(os.path.dirname(os.environ["OPDUMP_MINDSPORE_CONFIG"]), "dump"))
        execute(module)

    return exec_module


def start_with_framework() -> None:
    """Begins recording with the import of torch, TensorFlow or Flax, whichever comes first, if the environment names a
    configuration; at once if one is there. OPDUMP_FRAMEWORK names the one for a program that imports both."""
    if os.environ.get("OPDUMP_MINDSPORE_CONFIG"):
        call_after("mindspore", lambda: None, _handing_on)
    if _is_compile_worker() or config() is None or any(isinstance(f, Finder) and f.then is _start for f in sys.meta_path):
        return
    _stderr.keep()
    # Children that record belong to one run, even if this process never records.
    os.environ.setdefault("OPDUMP_RUN_ID", os.urandom(8).hex())
    if attached() is None:
        _end_unless_recorded()
        call_after("torch", _start)
        call_after("tensorflow", _start_tensorflow)
        call_after("jax", _watch_jax)
        call_after("flax", _start_flax)


def recorder() -> Recorder:
    """What records the framework of this program: TensorFlow or Flax if only that is imported, else torch."""
    imported = [name for name, module in (("torch", "torch"), ("tensorflow", "tensorflow"), ("jax", "flax")) if module in sys.modules]
    framework = os.environ.get("OPDUMP_FRAMEWORK", imported[0] if imported else "torch")
    if framework == "tensorflow":
        from opdump._tensorflow.attach import attachment

        return attachment
    if framework == "jax":
        from opdump._jax.attach import attachment

        return attachment
    import torch  # noqa: F401  (recording hooks a complete torch)

    from opdump import _building, _errors

    try:
        from opdump._torch.attach import attachment
    except _building.CannotBuild as error:
        raise _errors.make("unsupported", str(error)) from None
    return attachment
