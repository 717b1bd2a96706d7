"""The options of TensorFlow 1's adapter: DumpConfig, NPURunConfig and parameter_map, with the checks of its C++ part."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from opdump import _steps
from opdump.npu_device import _ge, _no_effect


class InternalError(RuntimeError):
    """The Status "Internal" of TensorFlow."""


class FatalError(InternalError):
    """An error that ends the process in the original."""


class DumpConfig:
    """Selects what to dump. Values are checked when they are used."""

    def __init__(self, enable_dump: Any = False, dump_path: Any = None, dump_step: Any = None, dump_mode: Any = "output",
                 enable_dump_debug: Any = False, dump_debug_mode: Any = "all", dump_data: Any = "tensor",
                 dump_layer: Any = None) -> None:
        self._enable_dump, self._dump_path, self._dump_step, self._dump_mode = enable_dump, dump_path, dump_step, dump_mode
        self._enable_dump_debug, self._dump_debug_mode = enable_dump_debug, dump_debug_mode
        self._dump_data, self._dump_layer = dump_data, dump_layer


class NPURunConfig:
    """The configuration of an estimator. Of the options unrelated to dumps those that TensorFlow's RunConfig knows go there,
    the others have no effect."""

    _OF_TENSORFLOW = ("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
                      "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps")

    def __init__(self, *unused: Any, dump_config: DumpConfig | None = None, enable_exception_dump: int | None = None,
                 quant_dumpable: str | None = None, **others: Any) -> None:
        if dump_config is not None and not isinstance(dump_config, DumpConfig):
            raise ValueError("`dump_config` must be provided with type `DumpConfig`")
        self._dump_config, self._enable_exception_dump, self._quant_dumpable = dump_config, enable_exception_dump, quant_dumpable
        self._run_options = {name: others.pop(name) for name in self._OF_TENSORFLOW if name in others}
        if "auto_tune_mode" in others:
            _no_effect.tell("auto_tune_mode")

    def __getattr__(self, name: str) -> Any:
        if name in self._OF_TENSORFLOW:
            return self._run_options.get(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}", name=name, obj=self)

    def as_run_config(self, run_config: Callable[..., Any]) -> Any:
        """TensorFlow's RunConfig with the options that it knows."""
        return run_config(**{name: value for name, value in self._run_options.items() if value is not None})

    def as_parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {"enable_exception_dump": self._enable_exception_dump, "quant_dumpable": self._quant_dumpable}
        if (dump := self._dump_config) is not None:
            found |= {"enable_dump": dump._enable_dump, "dump_path": dump._dump_path, "dump_step": dump._dump_step,
                      "dump_mode": dump._dump_mode, "enable_dump_debug": dump._enable_dump_debug,
                      "dump_data": dump._dump_data, "dump_layer": dump._dump_layer}
            if dump._dump_mode is not None:  # as the original, which asks for the wrong one
                found["dump_debug_mode"] = dump._dump_debug_mode
        return {name: value for name, value in found.items() if value is not None}


class _Attribute:
    """One value of a parameter_map: .b, .i or .s (text or bytes)."""

    b: bool | None = None
    i: int | None = None
    s: bytes | str | None = None


class NpuOptimizer:
    """The custom_op of a session's configuration: its parameter_map["dump_path"].s = b"/home/dump", and so on."""

    name = "NpuOptimizer"

    def __init__(self) -> None:
        self.parameter_map: defaultdict[str, _Attribute] = defaultdict(_Attribute)

    def as_parameters(self) -> dict[str, Any]:
        found = {}
        if "auto_tune_mode" in self.parameter_map:
            _no_effect.tell("auto_tune_mode")
        for name, attribute in self.parameter_map.items():
            value = next((v for v in (attribute.b, attribute.i, attribute.s) if v is not None), None)
            if value is not None:
                found[name] = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        return found


def _check_path(path: Any) -> str:
    if not path:
        raise InternalError("if use dump function, dump_path must be set.")
    if not os.path.isdir(path):
        raise InternalError(f"the path {path} is not directory.")
    if not os.access(path, os.R_OK | os.W_OK):
        raise InternalError(f"the path {path} has no read, write permission.")
    return os.path.realpath(path)


def to_options(parameters: dict[str, Any], *, find_step_fault: Callable[[str], str | None] = _steps.find_adapter_fault
               ) -> dict[str, str]:
    """The graph engine's options for a run's parameters, checked in the adapter's order: the path; then step and mode of a
    dump; the mode of overflow; the kind of data. Raises InternalError or FatalError with its messages.

    `find_step_fault` is the adapter's test of steps: that of 2023 by default; _steps.find_old_adapter_fault is that of 2021.
    """
    dump, debug = bool(parameters.get("enable_dump")), bool(parameters.get("enable_dump_debug"))
    result = {_ge.ENABLE: str(int(dump)), _ge.ENABLE_DEBUG: str(int(debug))}
    if dump or debug:
        result[_ge.PATH] = _check_path(parameters.get("dump_path"))
    if dump:
        result |= _dump_options(parameters, find_step_fault)
    if debug and (mode := parameters.get("dump_debug_mode")) is not None:
        if mode not in _ge.DEBUG_MODES:
            raise FatalError(f"dump debug mode should be one of the list:[{', '.join(_ge.DEBUG_MODES)}]")
        result[_ge.DEBUG_MODE] = mode
    if (data := parameters.get("dump_data")) is not None:
        if data not in _ge.DATA_KINDS:
            raise InternalError("dump_data should be 'tensor' or 'stats'.")
        result[_ge.DATA] = data
    if parameters.get("dump_layer"):
        result[_ge.LAYER] = str(parameters["dump_layer"])
    if (level := parameters.get("enable_exception_dump")) is not None:
        if str(int(level)) not in ("0", "1", "2"):
            raise InternalError("enable_exception_dump should be 0, 1 or 2.")
        result[_ge.EXCEPTION] = str(int(level))
    if (quant := parameters.get("quant_dumpable")) is not None:
        result[_ge.QUANT] = str(quant)
    return result


def _dump_options(parameters: dict[str, Any], find_step_fault: Callable[[str], str | None]) -> dict[str, str]:
    result = {}
    if step := parameters.get("dump_step"):
        if fault := find_step_fault(str(step)):
            raise InternalError(fault)
        result[_ge.STEP] = str(step)
    if (mode := parameters.get("dump_mode")) is not None:
        if mode not in _ge.MODES:
            raise FatalError(f"dump mode should be one of the list:[{', '.join(_ge.MODES)}]")
        result[_ge.MODE] = mode
    return result
