"""The dump interface of TensorFlow's adapter for NPUs, for the TensorFlow or PyTorch training that runs.

    from opdump import npu_device

    npu_device.global_options().dump_config.enable_dump = True
    npu_device.global_options().dump_config.dump_path = "/home/HwHiAiUser/output"
    npu_device.open().as_default()

TensorFlow 1's DumpConfig, NPURunConfig and parameter_map are here too: npu_device.open(run_config=...). A session of
TensorFlow whose configuration has the optimizer NpuOptimizer opens the device with its parameter_map. Options, checks and
messages are those of the original; see docs/tensorflow.md.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any

from opdump import _on_import
from opdump.npu_device import _ge, compat, distribute, train
from opdump.npu_device._estimator import DumpConfig, FatalError, InternalError, NpuOptimizer, NPURunConfig, to_options
from opdump.npu_device._no_effect import DeviceOnly, constant, same, scope
from opdump.npu_device._options import GlobalOptions

__all__ = ["global_options", "open", "DumpConfig", "NPURunConfig", "NpuOptimizer", "InternalError", "FatalError", "NpuDevice",
           "compat", "distribute", "train", "set_npu_loop_size", "npu_run_context", "never_nested_function", "npu_compat_function",
           "set_device_sat_mode", "global_npu_ctx", "close", "wrap_cpu_only_api", "gen_npu_ops", "NpuDeviceHandle", "NpuConfig", "Config",
           "keep_dtype_scope", "npu_recompute_scope", "npu_optimizer_scope", "npu_gradients_scope", "is_inf_nan_enabled"]

set_npu_loop_size: Callable[..., Any] = constant("set_npu_loop_size", None)
set_device_sat_mode: Callable[..., Any] = constant("set_device_sat_mode", None)
npu_run_context: Callable[..., Any] = scope("npu_run_context")
global_npu_ctx: Callable[..., Any] = constant("global_npu_ctx", None)
never_nested_function: Callable[..., Any] = same("never_nested_function")
npu_compat_function: Callable[..., Any] = same("npu_compat_function")
wrap_cpu_only_api: Callable[..., Any] = same("wrap_cpu_only_api")
close: Callable[..., Any] = constant("close", None)
is_inf_nan_enabled: Callable[..., Any] = constant("is_inf_nan_enabled", True)  # as a CPU overflows
keep_dtype_scope: Callable[..., Any] = scope("keep_dtype_scope")
npu_recompute_scope: Callable[..., Any] = scope("npu_recompute_scope")
npu_optimizer_scope: Callable[..., Any] = scope("npu_optimizer_scope")
npu_gradients_scope: Callable[..., Any] = scope("npu_gradients_scope")
gen_npu_ops: DeviceOnly = DeviceOnly("gen_npu_ops")
NpuConfig = Config = GlobalOptions

MODEL_NAME = "ge_default_1"  # of all that is recorded: how the original names its first graph, without the time

_options = GlobalOptions()
_device: NpuDevice | None = None


class NpuDevice:
    """The result of open()."""

    workers_num: int = 1
    worker_id: int = 0

    def name(self) -> str:
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    def scope(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def is_cluster_worker(self) -> bool:
        return False

    def as_default(self) -> NpuDevice:
        return self

    def __enter__(self) -> NpuDevice:
        return self

    def __exit__(self, *unused: object) -> None:
        pass


NpuDeviceHandle = NpuDevice


def global_options() -> GlobalOptions:
    """The options of this process. The first open() applies them; later changes have no effect."""
    return _options


def open(device_id: int | None = None, *, run_config: NPURunConfig | NpuOptimizer | None = None) -> NpuDevice:
    """Starts the recording that global_options() asks for, or `run_config` with the checks of TensorFlow 1; once in a process.

    Raises ValueError for what the graph engine refuses, InternalError for what TensorFlow 1's adapter refuses, FatalError
    where it would end the process.
    """
    global _device
    if _device is None:
        options = _options.as_dict() if run_config is None else to_options(run_config.as_parameters())
        _ge.check(options)
        if config := _ge.acl_config(options):
            _begin(config)
        _device = NpuDevice()
    return _device


def _begin(config: dict[str, Any]) -> None:
    _on_import.recorder().start("dump_config", text=json.dumps(config, indent=2), dialect="acl", model_name=MODEL_NAME,
                                existing="original")


@atexit.register
def _warn_of_unopened() -> None:
    dump = _options.dump_config
    if _device is None and (dump.enable_dump or dump.enable_dump_debug):
        print("opdump: nothing was dumped: npu_device.open() was not called after the options were set", file=sys.stderr)
