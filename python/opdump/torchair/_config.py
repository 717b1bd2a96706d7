"""CompilerConfig and its dump options (https://www.hiascend.com: TorchAir, operator dump in graph mode)."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from opdump.torchair import _options as options
from opdump.torchair._old_torch import provide_compile

GRAPH_ENGINE, GRAPH_CAPTURE = "max-autotune", ("reduce-overhead", "npugraph_ex")


def world() -> tuple[int, int]:
    """World size and global rank; (1, 0) unless several processes train together."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return distributed.get_world_size(), distributed.get_rank()
    return 1, 0


def make_rank_directory(parent: str) -> str:
    """The directory of this process, created if it is missing."""
    size, rank = world()
    path = os.path.join(os.path.realpath(parent), f"worldsize{size}_global_rank{rank}")
    os.makedirs(path, exist_ok=True)
    return path


class DumpConfig(options.Section):
    """config.dump_config: options take a value and are read as objects whose .value is a string."""

    enable_dump: Any
    dump_path: Any
    dump_mode: Any
    quant_dumpable: Any
    dump_step: Any
    dump_layer: Any
    dump_data: Any
    dump_config_path: Any
    data_dump_stage: Any

    def __init__(self) -> None:
        super().__init__(
            enable_dump=options.one_of(False, [False, True]),
            dump_path=options.existing_directory("./"),
            dump_mode=options.one_of("all", ["input", "output", "all"]),
            quant_dumpable=options.one_of(False, [False, True]),
            dump_step=options.steps(""),
            dump_layer=options.layers(""),
            dump_data=options.one_of("tensor", ["tensor", "stats"]),
            dump_config_path=options.existing_json_file(None),
            data_dump_stage=options.one_of("optimized", ["original", "optimized"]),
        )

    def as_dict(self, mode: str = GRAPH_ENGINE) -> tuple[dict[str, Any], dict[str, Any]]:
        """(local options, global options) in the original's keys; makes the directory of this process if a dump is
        enabled."""
        result: dict[str, Any] = {}
        if self.dump_config_path:
            result["ge_dump_with_acl_config"] = self.dump_config_path.value
        if not self.enable_dump:
            return {}, result
        path = make_rank_directory(self.dump_path.value)
        if mode == GRAPH_ENGINE:
            result |= {"ge.exec.enableDump": "1", "ge.exec.dumpPath": path, "ge.exec.dumpMode": self.dump_mode.value,
                       "ge.quant_dumpable": self.quant_dumpable.value, "ge.exec.dumpData": self.dump_data.value}
            result |= {key: option.value for key, option in (("ge.exec.dumpStep", self.dump_step),
                                                             ("ge.exec.dumpLayer", self.dump_layer)) if option}
        elif mode in GRAPH_CAPTURE:
            result |= {"aclgraph.enableDump": "1", "aclgraph.dumpPath": path, "aclgraph.dumpStage": self.data_dump_stage.value}
            self._warn_of_unused(mode)
        return {}, result

    def _warn_of_unused(self, mode: str) -> None:
        fresh = DumpConfig()
        unused = [name for name in ("dump_mode", "quant_dumpable", "dump_step", "dump_layer", "dump_data")
                  if getattr(self, name).value != getattr(fresh, name).value]
        if unused:
            warnings.warn(f"in the mode {mode} {', '.join(unused)} of dump_config have no effect", stacklevel=4)


class _DataDump(options.Section):
    """config.debug.data_dump"""

    type: Any
    path: Any
    filter: Any

    def __init__(self) -> None:
        super().__init__(type=options.one_of(None, ["npy"]), path=options.existing_directory("./"), filter=options.anything(None))


class _Debug(options.Section):
    """config.debug"""

    data_dump: _DataDump
    graph_dump: options.Unused
    fx_summary: options.Unused
    aclgraph: options.Unused
    run_eagerly: Any

    def __init__(self) -> None:
        super().__init__(data_dump=_DataDump(), graph_dump=options.Unused(), fx_summary=options.Unused(),
                         aclgraph=options.Unused(), run_eagerly=options.one_of(False, [False, True]))


class CompilerConfig(options.Section):
    """The options of a compilation. Sections that only change how an accelerator computes are stored and have no effect."""

    mode: Any
    dump_config: DumpConfig
    debug: _Debug
    export: options.Unused
    fusion_config: options.Unused
    experimental_config: options.Unused
    inference_config: options.Unused
    ge_config: options.Unused
    aclgraph_config: options.Unused

    def __init__(self) -> None:
        provide_compile()  # programs look torch.compile up before they call get_npu_backend
        super().__init__(
            mode=options.one_of(GRAPH_ENGINE, [GRAPH_ENGINE, *GRAPH_CAPTURE]),
            dump_config=DumpConfig(), debug=_Debug(), export=options.Unused(), fusion_config=options.Unused(),
            experimental_config=options.Unused(), inference_config=options.Unused(), ge_config=options.Unused(),
            aclgraph_config=options.Unused(),
        )

    def as_dict(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The dictionaries (local options, global options) with the options of dump_config."""
        return self.dump_config.as_dict(self.mode.value)
