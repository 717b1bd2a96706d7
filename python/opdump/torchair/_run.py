"""From a CompilerConfig to a recording: converts the options to an acl.json, as TorchAir does."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from opdump._imports import call_after
from opdump.torchair import scope
from opdump.torchair._config import CompilerConfig
from opdump.torchair._old_torch import named_backends, provide_compile

Model = TypeVar("Model", bound=Callable[..., Any])

MODEL_NAME = "graph_1"  # in directories: TorchAir's name for the first graph

_started: dict[str, str] | None = None  # the options that the recording of this process was started with


def acl_config(options: dict[str, str], regions: bool = False) -> dict[str, Any]:
    """The acl.json for global options of CompilerConfig.as_dict(): the values are text, names of operators are a list.
    Without quant_dumpable, which says to a compiler what to keep. `regions`: operators of scope.data_dump() are wanted too."""
    dump: dict[str, Any] = {"dump_path": options["ge.exec.dumpPath"], "dump_mode": options["ge.exec.dumpMode"],
                            "dump_data": options["ge.exec.dumpData"]}
    if "ge.exec.dumpStep" in options:
        dump["dump_step"] = options["ge.exec.dumpStep"]
    models: dict[str, Any] = {"model_name": MODEL_NAME}
    layers = [name for name in options.get("ge.exec.dumpLayer", "").strip().split(" ") if name]
    if layers or regions:
        models["layer"] = layers + [scope.MARK] * regions
    return {"dump": {**dump, "dump_list": [models]}}


def start(config: CompilerConfig, model: Model) -> Model:
    """Starts what `config` asks for when `model` is compiled, and returns what is to be called in its place. Raises
    ValueError for what TorchAir's checks let pass and CANN then ignores in silence."""
    _, options = config.as_dict()
    if config.debug.data_dump.type:
        from opdump.torchair import _eager

        return _eager.watch(model, _eager.NpyDump(config))
    if "aclgraph.enableDump" in options:
        from opdump.torchair import _eager

        return _eager.watch(model, _eager.PtDump(config))
    if not options:
        return model
    _record(config, options, model)
    return _executions(model)


def _executions(model: Any) -> Any:
    """Returns `model` with each call recorded as an execution. A module stays the same object."""
    import torch

    from opdump._torch import recorder as hooks

    if isinstance(model, torch.nn.Module):
        hooks.note_compiled(model)
        return model

    @functools.wraps(model)
    def executed(*args: Any, **kwargs: Any) -> Any:
        hooks.enter_execution()
        try:
            return model(*args, **kwargs)
        finally:
            hooks.leave_execution()

    return executed


def _record(config: CompilerConfig, options: dict[str, str], model: Any) -> None:
    """Runs once per process."""
    global _started
    if _started is not None:
        if _started != options:
            warnings.warn("a dump is in progress: it keeps the dump_config of the first model that was compiled", stacklevel=3)
        return
    _begin(config, options, scope.is_used_by(model))
    _started = options


def _begin(config: CompilerConfig, options: dict[str, str], regions: bool) -> None:
    import torch  # noqa: F401

    from opdump._torch.attach import attachment

    if not config.dump_config.enable_dump:
        attachment.start(options["ge_dump_with_acl_config"], dialect="acl", model_name=MODEL_NAME, executions=True,
                         existing="original")
        return
    if config.dump_config.dump_config_path:
        warnings.warn("dump_config_path has no effect together with enable_dump: the other options decide", stacklevel=4)
    if regions:
        scope.restrict()
    text = json.dumps(acl_config(options, regions), indent=2)
    attachment.start("dump_config", text=text, dialect="acl", model_name=MODEL_NAME, executions=True, existing="original")


class Backend:
    """A `backend` for torch.compile: runs graphs unchanged, operator by operator, and records them."""

    shows_operators = True  # to the recorder, unlike those of other backends

    def __init__(self, config: CompilerConfig) -> None:
        self.config = config

    def start(self, model: Model) -> Model:
        return start(self.config, model)

    def __call__(self, graph_module: Any, example_inputs: Any) -> Callable[..., Any]:
        started = self.start(graph_module)
        if not _started:
            return started.forward
        from opdump._torch import compiled

        return _executions(compiled.run_by_node(started))


def get_npu_backend(*, compiler_config: CompilerConfig | None = None, **unused: Any) -> Backend:
    """A backend for torch.compile(model, backend=...) that records as compiler_config.dump_config says.

    A torch without torch.compile gets one, which takes these backends only.
    """
    if compiler_config is not None and not isinstance(compiler_config, CompilerConfig):
        raise TypeError(f"compiler_config is {type(compiler_config)}; expected a CompilerConfig")
    provide_compile()
    return Backend(compiler_config or CompilerConfig())


def npugraph_ex(options: dict[str, Any]) -> Backend:
    """The backend of this name. Its options for dumps are dump_tensor_data, data_dump_stage and data_dump_dir."""
    config = CompilerConfig()
    config.mode = "npugraph_ex"
    for theirs, name in (("dump_tensor_data", "enable_dump"), ("data_dump_stage", "data_dump_stage"), ("data_dump_dir", "dump_path")):
        if theirs in options:
            setattr(config.dump_config, name, options[theirs])
    return Backend(config)


named_backends["npugraph_ex"] = npugraph_ex


def _register_backend() -> None:
    def compile_graph(graph_module: Any, example_inputs: Any, *, options: dict[str, Any] | None = None) -> Callable[..., Any]:
        return npugraph_ex(options or {})(graph_module, example_inputs)

    compile_graph.shows_operators = True  # type: ignore[attr-defined]
    sys.modules["torch._dynamo"].register_backend(compile_graph, name="npugraph_ex")


call_after("torch._dynamo", _register_backend)


def compile(model: Model, config: CompilerConfig | None = None) -> Model:
    """Starts the dump requested by `config` and returns `model`, or for a function a wrapper of it."""
    return start(config or CompilerConfig(), model)
