"""The options of TensorFlow 2's adapter: npu_device.global_options()."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from opdump.npu_device import _ge, _no_effect


class Option:
    def __init__(self, default: Any, allowed: Iterable[Any] | None = None) -> None:
        self.default = self._value = default
        self._allowed = None if allowed is None else list(allowed)
        self.is_set: bool = False

    @property
    def value(self) -> str | None:
        """The value to pass on: "1" and "0" for True and False, any other text as it is; None if it is not set."""
        if self._value is None:
            return None
        return str(int(self._value)) if isinstance(self._value, bool) else str(self._value)

    @value.setter
    def value(self, value: Any) -> None:
        if self._allowed is not None and value not in self._allowed:
            if not isinstance(value, type(self.default)):
                raise TypeError(f"Expected {type(self.default)}, got {type(value)}")
            raise ValueError(f"'{value}' not in optional list {self._allowed}")
        self._value, self.is_set = value, True

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Option({self._value!r})"


class Section:
    def __init__(self, **members: Option | Section) -> None:
        self.__dict__.update(members)

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get(name)
        if known is None:
            raise ValueError(f"{type(self).__name__} has no option {name}, all options {list(self.__dict__)}")
        if isinstance(known, Section):
            raise TypeError(f"{name} has options of its own: {list(known.__dict__)}")
        known.value = value


class _DumpConfig(Section):
    """global_options().dump_config"""

    enable_dump: Any
    dump_path: Any
    dump_step: Any
    dump_mode: Any
    enable_dump_debug: Any
    dump_debug_mode: Any
    dump_data: Any
    dump_layer: Any

    KEYS: ClassVar = {"enable_dump": _ge.ENABLE, "dump_path": _ge.PATH, "dump_step": _ge.STEP, "dump_mode": _ge.MODE,
            "enable_dump_debug": _ge.ENABLE_DEBUG, "dump_debug_mode": _ge.DEBUG_MODE, "dump_data": _ge.DATA,
            "dump_layer": _ge.LAYER}

    def __init__(self) -> None:
        super().__init__(
            enable_dump=Option(False, [False, True]), dump_path=Option(None), dump_step=Option(None),
            dump_mode=Option("output", _ge.MODES), enable_dump_debug=Option(False, [False, True]),
            dump_debug_mode=Option("all", _ge.DEBUG_MODES), dump_data=Option("tensor", _ge.DATA_KINDS), dump_layer=Option(None),
        )


class GlobalOptions(Section):
    """Options of the process; they take effect when the device is opened. Those that only change how an NPU computes are
    kept and change nothing."""

    dump_config: _DumpConfig
    enable_exception_dump: Any
    quant_dumpable: Any

    _UNUSED = (
        "graph_run_mode", "precision_mode", "precision_mode_v2", "modify_mixlist", "fusion_switch_file",
        "op_debug_level", "op_debug_config", "op_select_implmode", "optypelist_for_implmode",
        "op_compiler_cache_mode", "op_compiler_cache_dir", "op_compiler_cache_max_size", "debug_dir",
        "variable_memory_max_size", "graph_memory_max_size", "variable_format_optimize", "memory_config",
        "external_weight", "deterministic", "hcom_parallel", "hcom_multi_mode", "jit_compile",
        "stream_max_parallel_num", "is_tailing_optimization", "enable_small_channel", "graph_exec_timeout",
        "hccl_timeout", "op_wait_timeout", "op_execute_timeout", "stream_sync_timeout", "event_sync_timeout",
        "execute_times", "customize_dtypes", "profiling_config", "aoe_config", "experimental", "op_precision_mode",
        "enable_scope_fusion_passes", "soc_config", "work_path", "device_type", "hccl_algorithm",
        "static_memory_policy", "input_fusion_size", "input_batch_cpy", "oo_level", "oo_constant_folding",
        "optimization_switch", "topo_sorting_mode", "overflow_flag", "ac_parallel_enable", "compile_dynamic_mode",
        "all_tensor_not_empty", "shape_generalization_mode", "auto_multistream_parallel_mode",
        "graph_compiler_cache_dir", "export_compile_stat", "aicore_num",
    )

    def __init__(self) -> None:
        super().__init__(dump_config=_DumpConfig(), enable_exception_dump=Option(2, [0, 1, 2]), quant_dumpable=Option(None),
                         auto_tune_mode=_Retired(), **{name: Unused() for name in self._UNUSED})

    def as_dict(self) -> dict[str, str]:
        """The options that are set, by the graph engine's names."""
        found = {key: getattr(self.dump_config, name).value for name, key in _DumpConfig.KEYS.items()}
        found[_ge.QUANT] = self.quant_dumpable.value
        # Set by default, but the original records nothing by it unless the device fails.
        found[_ge.EXCEPTION] = self.enable_exception_dump.value if self.enable_exception_dump.is_set else None
        return {key: value for key, value in found.items() if value is not None}


class Unused(Option):
    """Any value, or a section with its own options."""

    def __init__(self) -> None:
        super().__init__(None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Unused())


class _Retired(Unused):
    """An option of old programs that nothing listens to any more."""

    @property
    def value(self) -> str | None:
        return super().value

    @value.setter
    def value(self, value: Any) -> None:
        _no_effect.tell("auto_tune_mode")
        self._value, self.is_set = value, True
