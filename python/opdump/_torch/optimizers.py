"""The optimizers of the program, and whether it steps one: what a training step is depends on that."""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
import types
import weakref

import torch

from opdump._torch.unrecorded import out_of_sight

LIBRARIES = (os.path.join(torch.__path__[0], ""), os.path.dirname(os.path.dirname(__file__)) + os.sep)  # no code of the program

optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()


@out_of_sight
def steps_optimizer() -> bool:
    """Whether there is an optimizer and a function of the program on the call stack mentions its step()."""
    if not optimizers:
        return False
    frame = sys._getframe()
    while frame:
        if not frame.f_code.co_filename.startswith(LIBRARIES) and _mentions_step(frame.f_code):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def _mentions_step(code: types.CodeType) -> bool:
    return "step" in code.co_names and any(
        instruction.opname in ("LOAD_METHOD", "LOAD_ATTR") and instruction.argval == "step" for instruction in dis.get_instructions(code))


def optimizer_of(frames: list[tuple[str, str, str]], files: dict[str, str]) -> str:
    """The class of the optimizer that runs code of a compiled region; "" if there is none. `frames` have file, line and function,
    `files` are those of files_of_steps()."""
    return next((files[file] for file, _, function in frames if function.strip() == "step" and file in files), "")


def files_of_steps() -> dict[str, str]:
    """The classes of the program's optimizers, by the file of their step()."""
    steps = {type(optimizer).__name__: inspect.unwrap(type(optimizer).step) for optimizer in list(optimizers)}
    return {step.__code__.co_filename: name for name, step in steps.items() if hasattr(step, "__code__")}
