"""The options of the NPU's adapter on real TensorFlow: what is dumped, where, and which graph belongs to it."""

import json
import re
import subprocess

import numpy as np
import pytest
from conftest import OPDUMP, PROGRAMS, PYTHON, run, script

TRAIN = """
import os
import tensorflow as tf
import npu_device
import keras

{options}
npu_device.open().as_default()

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(4, activation="relu", name="first"), keras.layers.Dense(2, name="second")])
optimizer = keras.optimizers.SGD(0.1)

@tf.function
def step(iterator):
    x, y = next(iterator)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

x, y = tf.fill((6, 3), {x}), tf.ones((6, 2))
iterator = iter(tf.data.Dataset.from_tensor_slices((x, y)).batch(2))
for _ in range(3):
    print(step(iterator).numpy())
"""

OPTIONS = """
dump_config = npu_device.global_options().dump_config
dump_config.enable_dump = True
dump_config.dump_path = "output"
"""


def train(directory, options, x="1.0", **more):
    (directory / "output").mkdir()
    return script(TRAIN.format(options=options, x=x), directory, "--compat", "npu_device", **more)


def steps(directory):
    return {int(path.name): path for path in directory.glob("output/*/0/ge_default_1/*/*")}


def test_the_page(tmp_path):
    """Graphs, a dump, the graph of the training, the folder with its name."""
    done = train(tmp_path, "os.environ['DUMP_GE_GRAPH'] = '2'\n" + OPTIONS + "dump_config.dump_step = '0|2'\ndump_config.dump_mode = 'all'")
    assert len(done.stdout.split()) == 3
    found = steps(tmp_path)
    assert sorted(found) == [0, 2]
    assert re.fullmatch(r"\d{14}", found[2].parents[3].name)
    files = {path.name for path in found[2].iterdir()} - {"mapping.csv"}
    pattern = re.compile(r"(?P<type>\w+)\.(?P<name>\w+)\.(?P<task>\d+)\.(?P<stream>\d+)\.\d{16}")
    names = {(match["type"], match["name"]) for match in map(pattern.fullmatch, files)}
    assert ("_FusedMatMul", "sequential_1_second_1_BiasAdd") in names and ("IteratorGetNext", "IteratorGetNext") in names
    assert any(type_ == "AssignSubVariableOp" and name.startswith("sgd") for type_, name in names)

    graphs = [path for path in tmp_path.glob("ge_proto_*_Build.txt") if "Iterator" in path.read_text()]  # grep Iterator *_Build.txt
    assert graphs
    chosen = json.loads(run([OPDUMP, "graph", "find", ".", "output", "--json"], tmp_path).stdout)
    assert chosen["name"] == "ge_default_1" and "Iterator" in chosen["because"] and [tmp_path / path for path in chosen["dumps"]] == [found[2].parent]


@pytest.mark.parametrize("prefix", ["", "StatefulPartitionedCall/"])
def test_statistics_of_chosen_operators(tmp_path, prefix):
    """With the names of the program, or with those that the graph engine gives to operators of a function."""
    train(tmp_path, OPTIONS + f"dump_config.dump_data = 'stats'\ndump_config.dump_layer = '{prefix}sequential_1/second_1/BiasAdd {prefix}sub'")
    for directory in steps(tmp_path).values():
        names = {path.name.split(".")[1] for path in directory.iterdir()}
        assert names == {"sequential_1_second_1_BiasAdd", "sub"} and {path.suffix for path in directory.iterdir()} == {".csv"}


def test_layouts(tmp_path):
    """As CANN's parser has them; opdump converts them to others."""
    (tmp_path / "output").mkdir()
    script("""
import tensorflow as tf
import npu_device
dump_config = npu_device.global_options().dump_config
dump_config.enable_dump, dump_config.dump_path, dump_config.dump_mode = True, "output", "all"
npu_device.open().as_default()
filters = tf.Variable(tf.ones((3, 3, 2, 5)))

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.conv2d(x, filters, 1, "VALID", name="conv") ** 2)
    filters.assign_sub(0.1 * tape.gradient(loss, filters))

step(tf.ones((1, 8, 9, 2)))
""", tmp_path, "--compat", "npu_device")
    lines = map(json.loads, run([OPDUMP, "ls", "output", "--json"], tmp_path).stdout.splitlines())
    found = {f"{line['type']} {slot['slot']}": (slot["format"], slot["shape"])
             for line in lines if "operator" in line for slot in line["slots"] if "format" in slot}
    assert found["Conv2D input.0"] == ("NHWC", [1, 8, 9, 2])
    assert found["Conv2D input.1"] == found["Conv2DBackpropFilter output.0"] == ("HWCN", [3, 3, 2, 5])
    assert found["Conv2D output.0"] == found["Conv2DBackpropFilter input.2"] == ("NHWC", [1, 6, 7, 5])
    run([OPDUMP, "convert", "output", "-o", "arrays", "--op", "conv", "--format", "NCHW"], tmp_path)
    shapes = {path.name: np.load(path).shape for path in tmp_path.rglob("arrays/**/conv.*.npy")}
    assert shapes["conv.input.0.npy"] == (1, 2, 8, 9) and shapes["conv.input.1.npy"] == (5, 2, 3, 3), shapes


def test_overflow(tmp_path):
    train(tmp_path, """
dump_config = npu_device.global_options().dump_config
dump_config.enable_dump_debug = True
dump_config.dump_path = "output"
""", x="3e38")
    kinds = {path.name.split(".")[0] for path in steps(tmp_path)[0].iterdir()}
    assert "Opdebug" in kinds and kinds & {"_FusedMatMul", "Square"}


def test_a_mistake_ends_the_program(tmp_path):
    done = train(tmp_path, OPTIONS + "dump_config.dump_step = '3-3'", expect=1)
    assert "E10001: Value [3-3] for parameter [ge.exec.dumpStep]" in done.stderr and done.stdout == ""


def test_a_session(tmp_path):
    (tmp_path / "output").mkdir()
    program = [PYTHON, PROGRAMS / "session.py"]
    run([OPDUMP, "run", "--compat", "npu_device", "--", *program, "output", "1"], tmp_path)
    found = steps(tmp_path)
    assert sorted(found) == [1]
    types = {path.name.split(".")[0] for path in found[1].iterdir()}
    assert types >= {"ReluGrad", "ResourceApplyAdam", "ApplyAdam"}, types


def test_a_session_has_the_same_steps_through_both_doors(tmp_path):
    """dump_step of the adapter, and --steps of opdump: the initialisers are before step 0 in both."""
    (tmp_path / "output").mkdir()
    program = [PYTHON, PROGRAMS / "session.py"]
    run([OPDUMP, "run", "--compat", "npu_device", "--", *program, "output", "0"], tmp_path)
    run([OPDUMP, "run", "-o", "dump", "--steps", "0", "--", *program], tmp_path)
    found = steps(tmp_path)
    assert sorted(found) == [0]
    names = [{path.name.split(".")[1] for path in directory.iterdir()} - {"csv"}
             for directory in (found[0], *tmp_path.glob("dump/rank_0/*/*/0"))]
    assert len(names) == 2 and names[0] == names[1] and any("Apply" in name for name in names[0]), names


@pytest.mark.parametrize("step, text", [("5-3", "in range steps, the first step is >= second step, correct example:'0|5|10-20'")])
def test_mistakes_of_a_session(tmp_path, step, text):
    (tmp_path / "output").mkdir()
    done = subprocess.run([OPDUMP, "run", "--compat", "npu_device", "--", PYTHON, PROGRAMS / "session.py", "output", step],
                          cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 1 and "InternalError" in done.stderr and text in done.stderr
