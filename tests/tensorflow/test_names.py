"""What public programs import from the adapters of TensorFlow 1 and 2 for NPUs, and what they do with it before they train."""

from conftest import script

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
for line in "from npu_bridge.npu_init import npu_config_prot", "from npu_device import opne", "import npu_bridge.npu_inti":
    try:
        exec(line, {})
        print(line)
    except ImportError as error:
        pass
""", tmp_path, "--compat", "npu_device")
    assert done.stdout == ""


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
