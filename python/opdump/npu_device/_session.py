"""Sessions of TensorFlow whose configuration has the optimizer of the NPU's adapter, and in it the parameters of a dump."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.client import session as sessions

from opdump import npu_device
from opdump._tensorflow.attach import attachment


def install() -> None:
    """A session opens the device before it runs anything. Comes before the program's first operator."""
    attachment.load()
    sessions.BaseSession.__init__ = _opening_device(sessions.BaseSession.__init__)


def _opening_device(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def opening(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        if config is not None:
            _open_device(config)
        init(self, target, graph, config)

    return opening


def _open_device(config: Any) -> None:
    chosen = [found for found in config.graph_options.rewrite_options.custom_optimizers if found.name == "NpuOptimizer"]
    if not chosen or attachment.is_recording():
        return
    optimizer = npu_device.NpuOptimizer()
    for name, value in chosen[0].parameter_map.items():
        if (kind := value.WhichOneof("value")) in ("b", "i", "s"):
            setattr(optimizer.parameter_map[name], kind, getattr(value, kind))
    try:
        npu_device.open(run_config=optimizer)
    except npu_device.InternalError as error:
        raise tf.errors.InternalError(None, None, str(error)) from None
