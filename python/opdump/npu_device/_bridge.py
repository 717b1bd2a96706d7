"""npu_bridge, the adapter of TensorFlow 1: all names of `from npu_bridge.npu_init import *` and of its modules.

What a dump needs works: NPURunConfig, DumpConfig, npu_config_proto, NPUEstimator. Optimizers, losses and data are those of
TensorFlow; what only an NPU or several of them have is accepted and says once that it has no effect.
"""

from __future__ import annotations

import enum
import functools
import importlib
import importlib.util
import os
import sys
from typing import Any

from opdump import npu_device
from opdump.npu_device import _names, _no_effect, _operators
from opdump.npu_device._estimator import DumpConfig, FatalError, InternalError, NpuOptimizer, NPURunConfig
from opdump.npu_device._no_effect import DeviceOnly, Settings

# Names of TensorFlow that the original's modules hand on, and where they are.
_OF_TENSORFLOW = {
    "tf": ("tensorflow.compat.v1", None),  # as TensorFlow 1, whose programs these are
    "config_pb2": ("tensorflow.core.protobuf.config_pb2", None),
    "rewriter_config_pb2": ("tensorflow.core.protobuf.rewriter_config_pb2", None),
    "RewriterConfig": ("tensorflow.core.protobuf.rewriter_config_pb2", "RewriterConfig"),
    "session": ("tensorflow.python.client.session", None),
    "session_run_hook": ("tensorflow.python.training.session_run_hook", None),
    "backend": ("tensorflow.python.keras.backend", None),
}

# What the adapter leaves to TensorFlow of a graph's rewriting.
_REWRITES = ("function_optimization", "constant_folding", "shape_optimization", "arithmetic_optimization", "loop_optimization",
             "dependency_optimization", "layout_optimizer")


class NpuExecutePlacement(enum.Enum):
    """Where a variable lies: of npu_variable_scope()."""

    ALL, CUBE, VECTOR, HOST = "all", "cube", "vector", "host"


# Ranks and groups: a program is alone here, unless its launcher says otherwise.


def get_rank_id(*group: Any) -> int:
    return int(os.environ.get("RANK_ID") or 0)


def get_rank_size(*group: Any) -> int:
    return int(os.environ.get("RANK_SIZE") or 1)


get_npu_rank_id, get_npu_rank_size = get_rank_id, get_rank_size
get_local_rank_id = get_npu_local_rank_id = get_rank_id
get_local_rank_size = get_npu_local_rank_size = get_rank_size

# Loops and what util has

def set_iteration_per_loop(sess: Any, train_op: Any, iterations_per_loop: int = 1) -> Any:
    """The operator that trains; it runs once where the original runs it several times."""
    _no_effect.tell("set_iteration_per_loop")
    return train_op


class IterationPerLoop(Settings):
    create_iteration_per_loop_var = staticmethod(_names.find("create_iteration_per_loop_var"))
    load_iteration_per_loop_var = staticmethod(_names.find("load_iteration_per_loop_var"))


_values: dict[Any, Any] = {}  # of set_value()
global_dict_init = _values.clear
set_value = _values.__setitem__
get_value = _values.get


def variable_initializer_in_host(var_list: Any) -> Any:
    return _tensorflow().compat.v1.variables_initializer(var_list, name="var_in_host")


def npu_compile(sess: Any, *fetches: Any) -> None:
    """Runs them once, as the original."""
    sess.run(fetches)


# Sessions


def _tensorflow() -> Any:
    return importlib.import_module("tensorflow")


def npu_config_proto(config_proto: Any = None) -> Any:
    """The configuration of a session with NpuOptimizer, whose parameter_map may ask for a dump."""
    protos, rewriter = __getattr__("config_pb2"), __getattr__("RewriterConfig")
    if not isinstance(config_proto, protos.ConfigProto):
        config_proto = protos.ConfigProto()
    rewrites = config_proto.graph_options.rewrite_options
    if all(found.name != NpuOptimizer.name for found in rewrites.custom_optimizers):
        rewrites.custom_optimizers.add().name = NpuOptimizer.name
    config_proto.allow_soft_placement, config_proto.log_device_placement = True, False
    rewrites.remapping = rewrites.memory_optimization = rewriter.OFF
    config_proto.graph_options.optimizer_options.global_jit_level = protos.OptimizerOptions.OFF
    return config_proto


npu_session_config_init = npu_config_proto


def npu_graph_options(graph_options: Any = None) -> Any:
    protos = __getattr__("config_pb2")
    options = graph_options if isinstance(graph_options, protos.GraphOptions) else protos.GraphOptions()
    options.optimizer_options.global_jit_level = protos.OptimizerOptions.OFF
    return options


def npu_optimizer_options(optimizer_options: Any = None) -> Any:
    protos = __getattr__("config_pb2")
    options = optimizer_options if isinstance(optimizer_options, protos.OptimizerOptions) else protos.OptimizerOptions()
    options.global_jit_level = protos.OptimizerOptions.OFF
    return options


def init_resource(config: Any = None) -> tuple[Any, Any]:
    tf = _tensorflow()
    return tf.compat.v1.Session(config=npu_config_proto(config)), tf.no_op()


def shutdown_resource(sess: Any, npu_shutdown: Any) -> None:
    sess.run(npu_shutdown)


def close_session(sess: Any) -> None:
    sess.close()


def set_keras_session_npu_config(config: Any = None) -> Any:
    tf = _tensorflow()
    session = tf.compat.v1.Session(config=npu_config_proto(config))
    __getattr__("backend").set_session(session)
    return session


def npu_clear_session(config: Any = None) -> None:
    __getattr__("backend").clear_session()
    set_keras_session_npu_config(config)


def initialize_system(name: str | None = None) -> Any:
    return _tensorflow().no_op(name)


shutdown_system = NPUInit = NPUShutdown = initialize_system


def broadcast_global_variables(root_rank: Any = None, index: Any = None) -> Any:
    """Nothing to run: there is one rank."""
    _no_effect.tell("broadcast_global_variables")
    return initialize_system()


def npu_dynamic_rnn(cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None,
                    scope: Any = None) -> tuple[Any, Any]:
    """The cell over the first axis of the inputs."""
    tf = _tensorflow()
    outputs, state = tf.compat.v1.nn.static_rnn(cell, tf.unstack(inputs, axis=0), initial_state=initial_state, dtype=dtype,
                                                sequence_length=sequence_length, scope=scope)
    return tf.stack(outputs, axis=0), state


def dropout(x: Any, keep_prob: Any = 0.5, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    return _tensorflow().nn.dropout(x, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=name)


def gelu(x: Any, name: str | None = None) -> Any:
    return _tensorflow().nn.gelu(x, approximate=True, name=name)


# Estimators. TensorFlow 2.16 has none any more.


def _estimators() -> Any:
    found = getattr(_tensorflow().compat.v1, "estimator", None)
    if found is None:
        raise RuntimeError("NPUEstimator needs tf.estimator, which TensorFlow has up to 2.15")
    return found


def npu_run_config_init(run_config: Any = None) -> Any:
    estimators = _estimators()
    if not isinstance(run_config, estimators.RunConfig):
        run_config = estimators.RunConfig()
    return run_config.replace(session_config=npu_config_proto(run_config.session_config))


def npu_hooks_append(hooks_list: Any = ()) -> list[Any]:
    """The hooks, without one of the original that only several ranks need."""
    return hooks_list if isinstance(hooks_list, list) else []


def npu_callbacks_append(callbacks_list: Any = ()) -> list[Any]:
    return npu_hooks_append(callbacks_list)


def model_to_npu_estimator(keras_model: Any, model_dir: str | None = None, config: Any = None, **unused: Any) -> Any:
    """An estimator of Keras's model that opens the device as NPUEstimator does."""
    run_config = _open(config)
    return _tensorflow().compat.v1.keras.estimator.model_to_estimator(keras_model, model_dir=model_dir, config=run_config)


def check_keras_model_and_path(keras_model: Any = None, keras_model_path: Any = None) -> None:
    if bool(keras_model) == bool(keras_model_path):
        raise ValueError("one of keras_model and keras_model_path is needed")


def get_keras_model(keras_model: Any, keras_model_path: Any = None) -> Any:
    return keras_model or _tensorflow().keras.models.load_model(keras_model_path)


def _open(config: Any) -> Any:
    """Starts what an NPURunConfig asks for; returns the RunConfig for TensorFlow."""
    if not isinstance(config, NPURunConfig):
        return config
    npu_device.open(run_config=config)
    return config.as_run_config(_estimators().RunConfig)


def _make_estimator() -> type:
    """tf.estimator.Estimator, with the dump of its NPURunConfig."""
    base = getattr(getattr(_tensorflow().compat.v1, "estimator", None), "Estimator", object)

    def __init__(self: Any, model_fn: Any = None, model_dir: str | None = None, config: Any = None, params: Any = None,
                 job_start_file: str = "", warm_start_from: Any = None) -> None:
        estimator = _estimators().Estimator
        estimator.__init__(self, model_fn=model_fn, model_dir=model_dir, config=_open(config), params=params,
                           warm_start_from=warm_start_from)

    return type("NPUEstimator", (base,), {"__init__": __init__})


def NPUEstimatorSpec(mode: Any, host_call: Any = None, **fields: Any) -> Any:
    return _estimators().EstimatorSpec(mode, **fields)


def _make_hook(name: str) -> type:
    base = importlib.import_module("tensorflow.python.training.session_run_hook").SessionRunHook
    if name == "NPUCheckpointSaverHook":
        return type(name, (importlib.import_module("tensorflow.python.training.basic_session_run_hooks").CheckpointSaverHook,), {})

    def __init__(self: Any, *unused: Any, **options: Any) -> None:
        _no_effect.tell(name)

    return type(name, (base,), {"__init__": __init__})


_HOOKS = ("NPUBroadcastGlobalVariablesHook", "NPUCheckpointSaverHook", "NPUOutputTensorHook", "NpuEmptyHook",
          "SetIterationsVarHook", "TellMeStepOrLossHook", "NPUShutDownHook", "NPULogOutfeedSessionHook",
          "NPUInfeedOutfeedSessionHook")

def _make_callback() -> type:
    def __init__(self: Any, *unused: Any, **options: Any) -> None:
        base.__init__(self)
        _no_effect.tell("NPUBroadcastGlobalVariablesCallback")

    base = _tensorflow().keras.callbacks.Callback
    return type("NPUBroadcastGlobalVariablesCallback", (base,), {"__init__": __init__})


@functools.cache
def __getattr__(name: str) -> Any:
    if name in _OF_TENSORFLOW:
        module, attribute = _OF_TENSORFLOW[name]
        found = importlib.import_module(module)
        return found if attribute is None else getattr(found, attribute)
    if name in _HOOKS:
        return _make_hook(name)
    if name == "NPUEstimator":
        return _make_estimator()
    if name == "NPUBroadcastGlobalVariablesCallback":
        return _make_callback()
    if name == "NPUStrategy":
        return _tensorflow().distribute.get_strategy().__class__
    if name == "experimental_options":
        rewriter = __getattr__("RewriterConfig")
        return {"disable_model_pruning": False, **dict.fromkeys(_REWRITES, rewriter.ON)}
    if name in npu_device.__all__:  # of TensorFlow 2's adapter: a program may have both
        return getattr(npu_device, name)
    try:
        return _names.find(name)
    except KeyError:
        raise AttributeError(f"module {__name__} has no attribute {name}", name=name) from None


# The original's npu_init hands modules on: all of their names are here.
npu_ops = npu_rnn = npu_scope = util = keras_to_npu = npu_strategy = npu_unary_ops = hccl_ops = npu_config = sys.modules[__name__]
npu_plugin = npu_estimator = profiler = scoped_graph_manager = npu_ops
helper = npu_ops  # of the modules, the one that loads the operators
npu_cpu_ops = _operators
version = __version__ = "v1.15.0"  # of the adapter that has these names


def get_gen_ops() -> DeviceOnly:
    return DeviceOnly("gen_npu_ops")


__all__ = [  # noqa: F822  (some are made when they are asked for)
    "config_pb2", "rewriter_config_pb2", "RewriterConfig", "session", "session_run_hook", "backend", "experimental_options", "tf", "os",
    "NPURunConfig", "DumpConfig", "ProfilingConfig", "DynamicInputConfig", "MemoryConfig", "ExperimentalConfig",
    "FixedLossScaleManager", "ExponentialUpdateLossScaleManager", "NPUOptimizer", "NPUDistributedOptimizer",
    "KerasDistributeOptimizer", "NPULossScaleOptimizer", "npu_tf_optimizer", "npu_keras_optimizer", "npu_distributed_optimizer_wrapper",
    "npu_allreduce", "get_rank_id", "get_rank_size", "get_npu_rank_id", "get_npu_rank_size", "get_local_rank_id",
    "get_npu_local_rank_id", "get_local_rank_size", "get_npu_local_rank_size", "get_world_rank_from_group_rank",
    "get_group_rank_from_world_rank", "create_group", "destroy_group", "set_split_strategy_by_idx", "set_split_strategy_by_size",
    "without_npu_compile_scope", "keep_dtype_scope", "npu_weight_prefetch_scope", "subgraph_multi_dims_scope", "npu_variable_scope",
    "npu_mem_type_scope", "npu_stage_scope", "op_specified_engine_scope", "set_iteration_per_loop", "create_iteration_per_loop_var",
    "load_iteration_per_loop_var", "IterationPerLoop", "npu_config_proto", "npu_session_config_init", "npu_graph_options",
    "npu_optimizer_options", "init_resource", "shutdown_resource", "close_session", "set_keras_session_npu_config",
    "npu_clear_session", "initialize_system", "shutdown_system", "npu_close", "npu_run_config_init", "npu_hooks_append",
    "npu_callbacks_append", "model_to_npu_estimator", "NPUEstimator", "NPUEstimatorSpec", "NPUBroadcastGlobalVariablesCallback",
    "NPUBroadcastGlobalVariablesHook", "NPUCheckpointSaverHook", "NPUOutputTensorHook", "NpuEmptyHook", "SetIterationsVarHook",
    "TellMeStepOrLossHook", "NPUShutDownHook", "decorator_tf_session", "npu_ops", "npu_rnn", "npu_scope", "util", "keras_to_npu", "npu_strategy",
    "npu_unary_ops", "hccl_ops", "npu_config", "npu_plugin", "npu_cpu_ops", "profiler", "scoped_graph_manager",
    "InternalError", "FatalError", "NpuOptimizer", "NpuExecutePlacement",
    "npu_dynamic_rnn", "npu_resource_init", "npu_resource_shutdown", "broadcast_global_variables",
]

# A program of PyTorch that imports all names takes those that need no TensorFlow.
if importlib.util.find_spec("tensorflow") is None:
    _absent = {*_OF_TENSORFLOW, *_HOOKS, "experimental_options", "NPUEstimator", "NPUBroadcastGlobalVariablesCallback", "NPUStrategy"}
    __all__[:] = [name for name in __all__ if name not in _absent]
