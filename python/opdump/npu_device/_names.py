"""Names of the adapters' modules that change nothing without an NPU, or that need one, by what a program gets of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opdump.npu_device._no_effect import DeviceOnly, Settings, Switch, Wrapper, constant, same, scope
from opdump.npu_device._options import Unused


def _class(base: type) -> Callable[[str], Any]:
    return lambda name: type(name, (base,), {})


def _returning(value: Any) -> Callable[[str], Any]:
    return lambda name: constant(name, value)


_KINDS: tuple[tuple[Callable[[str], Any], str], ...] = (
    # What it is given first comes back.
    (same, """
        npu_tf_optimizer npu_keras_optimizer npu_distributed_optimizer_wrapper npu_allreduce npu_keras_var_broadcast_decorator
        decorator_tf_session create_iteration_per_loop_var set_graph_exec_config fair_division
        allreduce allgather broadcast reduce_scatter reduce alltoallv all_to_all_v all_to_all_v_c send
        check_not_none check_positive_integer check_nonnegative_integer check_bool_type check_profiling_options check_path
        check_mstune_mode check_aoe_mode check_graph_run_mode convert_bool_to_int format_string
     """),
    (_class(Wrapper), "NPUOptimizer NPUDistributedOptimizer KerasDistributeOptimizer NPULossScaleOptimizer"),
    (scope, """
        without_npu_compile_scope keep_dtype_scope npu_weight_prefetch_scope subgraph_multi_dims_scope npu_variable_scope
        npu_mem_type_scope npu_stage_scope op_specified_engine_scope disable_autofuse npu_recompute_scope npu_optimizer_scope
        npu_gradients_scope specified_ps_engine_scope
     """),
    (_class(Settings), """
        ProfilingConfig DynamicInputConfig MemoryConfig ExperimentalConfig NPUBasics FixedLossScaleManager
        ExponentialUpdateLossScaleManager GradDivisionItem AdamOptimizer AdagradOptimizer AdamWOptimizer es_initializer
        BaseTableMapPolicy NoneTableMapPolicy AutoMergeTableMapPolicy EmbeddingAdamOptimizer EmbeddingAdagradOptimizer
        EmbeddingAdamWOptimizer
     """),
    (_class(Switch), "Profiler ScopedGraphManager"),
    (lambda name: Unused, """
        NpuRunContextOptions run_context_options NpuDumpConfig NpuProfilingConfig NpuAoeConfig NpuExperimentalConfig
     """),
    (_returning(None), """
        create_group destroy_group set_split_strategy_by_idx set_split_strategy_by_size load_iteration_per_loop_var
        npu_close npu_resource_init npu_resource_shutdown init_rdma_pool rdma_remote_register rdma_remote_init
        init_op_compiler_cache_mode init_op_compiler_cache_dir init_debug_dir register_func create_or_get_var add_grads_and_vars
        keep_tensors_dtypes set_op_tensor_max_range set_op_input_tensor_multi_dims compare_initializer path_on_tf
     """),
    (_returning(0), "get_world_rank_from_group_rank get_group_rank_from_world_rank get_gid_by_grad get_gid_by_weight"),
    (_returning([]), "get_all_grad_item"),
    # Operators that TensorFlow has no kernels for.
    (DeviceOnly, """
        DynamicRNN DynamicGRUV2 DynamicAUGRU LARS LARSV2 basic_lstm_cell adam_apply_one_assign adam_apply_one_with_decay_assign
        outfeed_dequeue_op outfeed_enqueue_op stop_outfeed_dequeue_op npu_test npu_onnx_graph_op get_var_addr_and_size
        malloc_shared_memory get_rdma_cache gen_npu_ops npu_aicore_ops npu_bridge_handle receive remote_read remote_ref_read
        remote_write remote_scatter_write gather_all_to_all_v
     """),
)
_MAKERS = {name: make for make, names in _KINDS for name in names.split()}


@functools.cache
def find(name: str) -> Any:
    """What `name` is, the same each time. Raises KeyError for a name that is none of these."""
    return _MAKERS[name](name)
