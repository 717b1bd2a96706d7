"""Callbacks of futures: torch calls them in threads of its own, as those that a communication hook of DDP adds in a thread of gloo."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from opdump._frames import leave_no_frame
from opdump._torch import recorder as hooks


def install() -> None:
    for name in ("then", "add_done_callback"):
        setattr(torch._C.Future, name, _recorded(getattr(torch._C.Future, name)))


def _recorded(register: Callable[..., Any]) -> Callable[..., Any]:
    """The callback's operators belong to where it was added, and wait for the recorder before they write to memory that it reads."""

    def registered(future: Any, callback: Callable[..., Any]) -> Any:
        scope = hooks.current_scope()
        if not scope:
            return register(future, callback)

        def called(*args: Any) -> Any:
            was_lent = hooks.lend_thread(scope)
            try:
                return callback(*args)
            except BaseException as error:
                leave_no_frame(error)
                raise
            finally:
                hooks.return_thread(was_lent)

        return register(future, called)

    return functools.update_wrapper(registered, register)
