"""What public programs import from the adapters of TensorFlow 1 and 2 for NPUs, and what they do with it before they train."""

import pathlib

from conftest import script

PROGRAMS = pathlib.Path(__file__).resolve().parent / "data" / "npu_programs.txt"
IMPORTS = """
from npu_bridge.npu_init import *
from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu import npu_rnn, npu_scope, util, keras_to_npu, npu_strategy
from npu_bridge.estimator.npu.npu_config import NPURunConfig, ProfilingConfig, DumpConfig, DynamicInputConfig, ExperimentalConfig
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator, NPUEstimatorSpec
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer, NPUOptimizer, KerasDistributeOptimizer, npu_allreduce
from npu_bridge.estimator.npu.npu_optimizer import npu_distributed_optimizer_wrapper
from npu_bridge.estimator.npu.npu_hook import NPUCheckpointSaverHook, NPUOutputTensorHook, NPUBroadcastGlobalVariablesHook
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_loss_scale_manager import FixedLossScaleManager, ExponentialUpdateLossScaleManager
from npu_bridge.estimator.npu.npu_callbacks import NPUBroadcastGlobalVariablesCallback
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops
from npu_bridge.hccl import hccl_ops
from npu_bridge.helper import helper
from npu_bridge.estimator.npu.npu_config import NpuExecutePlacement
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicRNN, DynamicGRUV2, DynamicAUGRU
from npu_bridge.estimator.npu.npu_rnn import npu_dynamic_rnn
from npu_bridge.estimator.npu_ops import NPUInit, NPUShutdown, LARSV2, dropout
from npu_bridge.estimator.npu import npu_convert_dropout, npu_decorator, npu_common
from npu_bridge.npu_cpu.npu_cpu_ops import dense_image_warp, gen_npu_cpu_ops
from npu_bridge.npu_cpu import npu_cpu_ops as custom_op
from npu_bridge.tbe import npu_cube_ops, npu_vector_ops
from npu_bridge.embedding.embedding_service import ESWorker
from hccl.manage.api import create_group, destroy_group, get_rank_size, get_local_rank_size, get_rank_id, get_local_rank_id
from hccl.manage.api import get_world_rank_from_group_rank, get_group_rank_from_world_rank
from hccl.split.api import set_split_strategy_by_idx, set_split_strategy_by_size
import npu_device
import npu_device.distribute
from npu_device.distribute import hccl
from npu_device.train.optimizer.npu_loss_scale_optimizer import NpuLossScaleOptimizer, NpuExperimentalLossScaleOptimizer
from npu_device.compat.v1.npu_init import npu_tf_optimizer, npu_hooks_append
from npu_device.compat.v1.estimator.npu.npu_hook import NPUCheckpointSaverHook
from npu_device.compat.v1.hccl import hccl_ops
from npu_device.compat import v1 as npu_bridge; npu_bridge.estimator.npu_ops.NPUInit
from npu_device.npu_device import open, npu_compat_function, gen_npu_ops, global_options
from npu_device import gen_npu_ops, Config, ops, train, distribute
from npu_bridge.estimator.npu.util import check_not_none, check_positive_integer, check_nonnegative_integer, check_bool_type
from npu_bridge.estimator.npu.util import convert_bool_to_int, format_string, check_profiling_options, check_path, check_mstune_mode
from npu_bridge.estimator.npu.util import check_aoe_mode, register_func, create_or_get_var, set_iteration_per_loop, IterationPerLoop
from npu_bridge.estimator.npu.util import variable_initializer_in_host, fair_division, GradDivisionItem, add_grads_and_vars
from npu_bridge.estimator.npu.util import get_gid_by_grad, get_gid_by_weight, get_all_grad_item, set_graph_exec_config, npu_compile
from npu_bridge.estimator.npu.util import global_dict_init, set_value, get_value, keep_tensors_dtypes, set_op_tensor_max_range
from npu_bridge.estimator.npu.util import set_op_input_tensor_multi_dims
from npu_bridge.estimator.npu.keras_to_npu import model_to_npu_estimator, check_keras_model_and_path, get_keras_model
from npu_bridge.estimator.npu.npu_plugin import init_op_compiler_cache_mode, init_debug_dir, check_graph_run_mode, is_inf_nan_enabled
from npu_bridge.estimator.npu.npu_plugin import npu_resource_init, rdma_remote_register, get_var_addr_and_size, set_device_sat_mode
from npu_bridge.estimator.npu.npu_config import decorator_tf_session, MemoryConfig
from npu_bridge.estimator.npu.npu_scope import disable_autofuse, subgraph_multi_dims_scope
from npu_bridge.estimator.npu_aicore_ops import prelu, centralization, nonzero
from npu_bridge.estimator.npu_ops import npu_onnx_graph_op
from npu_bridge.hccl.hccl_ops import allreduce, all_to_all_v, all_to_all_v_c, gather_all_to_all_v, remote_read, receive
from npu_bridge.npu_cpu.npu_cpu_ops import embeddingrankid, embedding_local_index, randomchoicewithmask, host_feature_mapping
from npu_bridge.embedding import EmbeddingAdamOptimizer, EmbeddingService, es_initializer
from npu_bridge.embedding.embedding_service import specified_ps_engine_scope
from npu_bridge.embedding.embedding_optimizer import AdamOptimizer, AdagradOptimizer, AdamWOptimizer
from npu_bridge.embedding.embedding_table_map_policy import NoneTableMapPolicy, AutoMergeTableMapPolicy
from npu_bridge.embedding.tf_path import path_on_tf
from npu_bridge.profiler import profiler; profiler.Profiler
from npu_bridge.scoped_graph_manager.scoped_graph_manager import ScopedGraphManager
from npu_bridge.helper.helper import npu_bridge_handle, version
import npu_bridge; npu_bridge.npu_close, npu_bridge.helper, npu_bridge.npu_estimator, npu_bridge.__version__
from npu_device import keep_dtype_scope, npu_recompute_scope, is_inf_nan_enabled, configs
from npu_device.utils.scope import npu_optimizer_scope, npu_gradients_scope
from npu_device.configs.npu_run_context_option import NpuRunContextOptions
import npu_bridge; npu_bridge.estimator.npu.npu_scope.npu_stage_scope
import hccl; hccl.manage.api.get_rank_id
"""


def test_every_import(tmp_path):
    """Each line in names of its own, as a program begins."""
    done = script(f"""
import tensorflow
for line in {IMPORTS!r}.splitlines():
    try:
        exec(line, {{}})
    except Exception as error:
        print(line, "->", error)
print("all imported")
""", tmp_path, "--compat", "npu_device")
    assert done.stdout == "all imported\n"


def test_other_names_are_mistakes(tmp_path):
    """A misspelt name of a module that has others is not there."""
    done = script("""
import tensorflow
for line in "from npu_bridge.npu_init import npu_config_prot", "from npu_device import opne", "import npu_bridge.npu_inti", \
        "from npu_bridge.estimator.npu.util import get_vlaue", "import npu_device; npu_device.global_options().precison_mode = 1":
    try:
        exec(line, {})
        print(line)
    except (ImportError, ValueError):
        pass
""", tmp_path, "--compat", "npu_device")
    assert done.stdout == ""


def test_public_programs_get_past_their_imports_and_options(tmp_path):
    """Each of 129 that differ, in names of its own."""
    programs = [block for block in PROGRAMS.read_text().split("\n\n") if not block.startswith("#")]
    done = script(f"""
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
import npu_device
npu_device.open()
passed = 0
for block in {programs!r}:
    config = tf.ConfigProto()
    names = dict(tf=tf, config=config, custom_op=config.graph_options.rewrite_options.custom_optimizers.add())
    names["custom_op"].name = "NpuOptimizer"
    try:
        exec(block, names)
        passed += 1
    except Exception as error:
        print(block, "->", repr(error))
print(f"{{passed}} programs")
""", tmp_path, "--compat", "npu_device")
    assert done.stdout == f"{len(programs)} programs\n" and len(programs) >= 129
    told = [line for line in done.stderr.splitlines() if "has no effect" in line]
    assert len(told) == len(set(told)), done.stderr


def test_names_of_the_program_stay(tmp_path):
    """The star has no name that usual modules have, too."""
    script("""
from functools import reduce
from npu_bridge.npu_init import *
assert reduce(lambda a, b: a + b, [1, 2, 3]) == 6
""", tmp_path, "--compat", "npu_device")


def test_what_util_has_works(tmp_path):
    done = script("""
from npu_bridge.npu_init import *
tf.compat.v1.disable_v2_behavior()
util.global_dict_init()
util.set_value("rank", 3)
assert (util.get_value("rank"), util.get_value("none"), util.get_value("none", 1)) == (3, None, 1)
weight = tf.compat.v1.get_variable("weight", (3, 2))
with tf.compat.v1.Session() as sess:
    sess.run(util.variable_initializer_in_host([weight]))
    util.npu_compile(sess, weight)
    assert sess.run(util.set_graph_exec_config(weight, dynamic_input=True)).shape == (3, 2)
assert util.keep_tensors_dtypes(tf.compat.v1.get_default_graph(), ("weight:0",)) is None and util.get_gid_by_grad(weight) == 0
with profiler.Profiler(level="L1") as running:
    running.stop()
options = __import__("npu_device").configs.run_context_options()
options.experimental.graph_memory_optimize_config.recompute = "auto"
assert experimental_options["constant_folding"] == RewriterConfig.ON
print("done")
""", tmp_path, "--compat", "npu_device")
    assert done.stdout == "done\n"
    assert "opdump: set_graph_exec_config has no effect: there is no NPU\n" in done.stderr


def test_the_names_work_or_say_that_they_have_no_effect(tmp_path):
    done = script("""
from npu_bridge.npu_init import *
import npu_device
optimizer = tf.compat.v1.train.AdamOptimizer(0.1)
for wrapped in (npu_tf_optimizer(optimizer), NPUDistributedOptimizer(optimizer), NPULossScaleOptimizer(optimizer, FixedLossScaleManager(1024)),
                npu_device.distribute.npu_distributed_keras_optimizer_wrapper(optimizer), npu_device.train.optimizer.NpuLossScaleOptimizer(optimizer)):
    assert wrapped is optimizer
with npu_scope.without_npu_compile_scope():
    config = npu_config_proto(config_proto=tf.compat.v1.ConfigProto())
assert [found.name for found in config.graph_options.rewrite_options.custom_optimizers] == ["NpuOptimizer"]
assert (get_rank_size(), get_rank_id()) == (1, 0)
for _ in range(2):
    npu_device.global_options().auto_tune_mode = "RL,GA"
run = NPURunConfig(iterations_per_loop=10, model_dir="out", auto_tune_mode="RL,GA", profiling_config=ProfilingConfig(enable_profiling=True))
assert run.model_dir == "out" and run.as_parameters() == {}
assert isinstance(NPUBroadcastGlobalVariablesHook(0, 0), tf.compat.v1.train.SessionRunHook)
assert isinstance(NPUShutDownHook(), tf.compat.v1.train.SessionRunHook)
with npu_scope.npu_stage_scope(1), npu_scope.npu_variable_scope(NpuExecutePlacement.ALL), npu_device.open().scope():
    assert npu_device.open().name() and not npu_device.open().is_cluster_worker()
npu_device.close()
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicRNN
for only in (DynamicRNN, npu_ops.LARSV2, npu_device.gen_npu_ops.lars):
    try:
        only(hidden_size=16)
    except RuntimeError as error:
        assert str(error).endswith("computes on an NPU only")
    else:
        raise AssertionError(only)
print("done")
""", tmp_path, "--compat", "npu_device")
    assert done.stdout == "done\n"
    told = [line for line in done.stderr.splitlines() if "has no effect" in line]
    assert len(told) == len(set(told)) and "opdump: auto_tune_mode has no effect: there is no NPU" in told, done.stderr


def test_a_session_with_npu_config_proto_is_dumped(tmp_path):
    """As 437 public programs open their session; what it asks for is in its parameter_map."""
    (tmp_path / "output").mkdir()
    script("""
from npu_bridge.npu_init import *
tf.compat.v1.disable_v2_behavior()
config = tf.compat.v1.ConfigProto()
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
for name, value in (("dump_path", b"output"), ("dump_step", b"0"), ("dump_mode", b"all"), ("auto_tune_mode", b"RL,GA")):
    custom_op.parameter_map[name].s = value
custom_op.parameter_map["enable_dump"].b = True
weight = tf.compat.v1.get_variable("weight", (3, 2))
loss = tf.reduce_sum(tf.square(tf.matmul(tf.ones((4, 3)), weight)))
train = npu_tf_optimizer(tf.compat.v1.train.MomentumOptimizer(0.01, 0.9)).minimize(loss)
with tf.compat.v1.Session(config=npu_config_proto(config_proto=config)) as sess:
    sess.run(tf.compat.v1.global_variables_initializer())
    for _ in range(2):
        sess.run(train)
""", tmp_path, "--compat", "npu_device")
    types = {path.name.split(".")[0] for path in (tmp_path / "output").glob("2*/0/*/*/0/*")}
    assert any("ApplyMomentum" in name for name in types), types
