"""Functions whose operators are not recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opdump import _torch as hooks
from opdump._frames import leave_no_frame


def unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def paused(*args: Any, **kwargs: Any) -> Any:
        hooks.pause()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:
            hooks.resume()

    return paused
