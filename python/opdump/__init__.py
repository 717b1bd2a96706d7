"""opdump records what every operator of a PyTorch program reads and writes. It reads and compares the recordings.

Recording. With a configuration in the environment, importing is enough::

    MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json python3 -c "import opdump, train"

or name it in the program, or describe it by a few arguments::

    import opdump
    with opdump.record("golden", steps=range(3)) as recording:
        ...
    with opdump.dump("data_dump.json") as recording:
        ...

Reading::

    dump = opdump.open("dump")
    dump["addmm-op0"]["output.0"].numpy()
    dump.statistics()                       # a pandas.DataFrame
    result = opdump.compare("golden", "actual")
    result.ok, result.first_bad
    opdump.assert_same("golden", "actual")  # in a test

torch, numpy and pandas are imported on first use. Recording with a configuration from the environment begins when the
program imports torch.
"""

from __future__ import annotations

import sys

from opdump import _on_import

TYPE_CHECKING = False  # as type checkers know it; the module typing costs more than all the rest
if TYPE_CHECKING:
    from typing import Any

    from opdump._core import Finding, Operator, Slot
    from opdump._errors import ConfigError, Error, NotFoundError, ReadError
    from opdump._reading import Comparison, DumpSet, assert_same, compare, open, plan, report
    from opdump._recording import Config, Recording, Steps, StrPath

__all__ = ["start", "stop", "step", "active", "current_step", "set_dump", "alarm", "log", "record", "dump", "open", "compare", "assert_same",
           "report", "plan", "DumpSet", "Operator", "Slot", "Comparison", "Finding", "Recording",
           "Error", "ConfigError", "NotFoundError", "ReadError"]

_PLACES = {"open": "_reading", "compare": "_reading", "assert_same": "_reading", "report": "_reading", "plan": "_reading",
           "DumpSet": "_reading", "Comparison": "_reading",
           "Operator": "_core", "Slot": "_core", "Finding": "_core", "Recording": "_recording",
           "Error": "_errors", "ConfigError": "_errors", "NotFoundError": "_errors", "ReadError": "_errors"}
_MODULES = {"acl", "dumper", "torchair", "npu_device", "mindspore"}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"opdump.{name}")
    if name == "__version__":
        return importlib.import_module("opdump._core").version
    if name not in _PLACES:
        raise AttributeError(f"module 'opdump' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"opdump.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})


def record(output: StrPath, *, steps: Steps = 0, ops: str | None = None, module: str | None = None,
           tensors: bool | None = None, stats: bool = False, budget: str | int | None = None,
           existing: str | None = None) -> Recording:
    """Records what runs inside a with statement, without a configuration, into the folder `output`::

        with opdump.record("golden", steps=range(3), ops="conv|addmm") as recording:
            train()
        print(recording.complete, recording.open().statistics())

    `steps`, counted from 0: a number, numbers, "0,10-20" or "all". `ops` and `module` are regular expressions: only
    operators of these types, and of these modules ("layers.3"). `tensors` and `stats`: what is recorded; tensors if
    neither is set. `budget`: the most to write, in bytes or as "20G"; "free" for all that the disk has; None for
    a fifth of that, 10 GiB at most. `existing` is that of start(). The configuration that says the same is written to
    `output`/opdump_config.json. Entering raises
    ConfigError (a ValueError) if an argument is wrong, OSError if the folder cannot be made, RuntimeError if a recording
    is in progress.
    """
    from opdump import _recording

    return _recording.record(output, steps=steps, ops=ops, module=module, tensors=tensors, stats=stats, budget=budget,
                             existing=existing)


def dump(config: Config, *, mode: str | None = None, strict: bool = False, existing: str | None = None) -> Recording:
    """Records what runs inside a with statement. `config` is a configuration file, or its content as a dict::

        with opdump.dump("data_dump.json") as recording:
            train()
        print(recording.complete, recording.open().statistics())

    `mode`, `strict` and `existing` are those of start(). Steps count from 0. Entering raises ConfigError (a ValueError)
    with file, line and column if the configuration is wrong, RuntimeError if a recording is in progress.
    """
    from opdump._recording import Recording

    return Recording(config, mode=mode, strict=strict, existing=existing)


def start(config: str, *, mode: str | None = None, strict: bool = False, existing: str | None = None) -> None:
    """Starts recording with the configuration file `config` (data_dump.json).

    `mode` is the target machine: "o0", "o2", "cpu" or "gpu"; None derives it from the file. `strict` rejects what the
    original system rejects. `existing` is for a folder that already has a dump: "refuse" raises FileExistsError,
    "replace" removes the dump, "append" adds to it as the original does; None uses OPDUMP_EXISTING, by default
    "refuse". Raises ValueError with file, line and column if the configuration is wrong, OSError if its folder cannot be
    made, RuntimeError if a recording is in progress.
    """
    _on_import.recorder().start(config, mode=mode, strict=strict, existing=existing)


def stop() -> bool:
    """Stops recording and waits until everything is on disk. False if something was lost (see opdump_status.json)."""
    recorder = _on_import.attached()
    return recorder.stop(sys.exc_info()[1]) if recorder else True


def step() -> None:
    """Ends the current step. From the first call on, only this function counts steps."""
    recorder = _on_import.attached()
    if recorder:
        recorder.step()


def active() -> bool:
    """Whether the current step is recorded."""
    recorder = _on_import.attached()
    return recorder is not None and recorder.active()


def current_step() -> int:
    """The number of the current step, from 0."""
    recorder = _on_import.attached()
    return recorder.current_step() if recorder else 0


def set_dump(target: object, enabled: bool = True) -> None:
    """Flags what a configuration with "dump_mode": 2 records: a torch.nn.Module with all modules below it, an operator or
    scope by name ("Default/conv1-Conv2d/convolution-op0"), or all operators of a type, by its name ("relu", MindSpore's
    "ReLU") or a function of torch (torch.relu). Gradients of modules and names are included. False excludes a part.

    Call it before the first step. Raises ValueError if `target` is neither, or `enabled` is not a bool.
    """
    import torch  # noqa: F401

    from opdump._torch.attach import attachment

    attachment.set_dump(target, enabled)


def alarm(text: str) -> None:
    """Tells `opdump watch` that something is wrong: it keeps the steps up to this one, and says so. Does nothing without it."""
    recorder = _on_import.attachment_of_torch()
    if recorder:
        recorder.raise_alarm("alarm", text)


def log(name: str, value: object) -> None:
    """Tells `opdump watch --spike NAME:FACTORx` a value of this step, a number or a tensor of one element. Does nothing without it."""
    recorder = _on_import.attachment_of_torch()
    if recorder:
        recorder.log(name, value)


_on_import.start_with_framework()
