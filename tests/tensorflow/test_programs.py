"""Programs run as they do without us, what they compute is recorded, and two recordings of one program are equal."""

import pathlib
import re
import sys

import numpy as np
import pytest
from conftest import OPDUMP, PROGRAMS, PYTHON, Dump, plain, record, run, script

sys.path.insert(0, str(OPDUMP.parent.parent / "python"))
import opdump

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import wiring

NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "printed")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """{program: (directory, stdout)}: each program recorded once into `dump`."""
    made = {}

    def recording(name):
        if name not in made:
            directory = tmp_path_factory.mktemp(name)
            made[name] = directory, record(name, directory).stdout
        return made[name]

    return recording


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_without_us(name, recordings, tmp_path):
    directory, stdout = recordings(name)
    assert stdout == plain(name, tmp_path).stdout and "loss" in stdout
    assert Dump(directory).status["state"] == ("incomplete" if name == "compiled" else "complete")


@pytest.mark.parametrize("name", NAMES)
def test_two_recordings_are_equal(name, recordings):
    directory, stdout = recordings(name)
    assert record(name, directory, dump="again").stdout == stdout
    is_incomplete = name == "compiled"
    compared = run([OPDUMP, "compare", "dump", "again"], directory, expect=3 if is_incomplete else 0).stdout
    words = "no difference found, but the result is incomplete" if is_incomplete else "no difference"
    assert re.search(rf"^{words}: \d\d+ operators, \d\d+ tensors compared", compared, re.MULTILINE), compared


@pytest.mark.parametrize("name", NAMES)
def test_makers_left_what_is_read(name, recordings):
    directory, _ = recordings(name)
    counts = wiring.check(directory / "dump/rank_0")
    assert counts["whole"] > 10 and counts["unknown"] == 0, counts


def test_memory_of_others_is_used_again(tmp_path):
    """Each step's input lies where that of the step before lay, which the gradient has read from a list."""
    text = """
import numpy as np
import tensorflow as tf

memory = np.zeros(64, np.float32)
start = -memory.ctypes.data % 64 // 4
x = memory[start:start + 24].reshape(4, 6)
weight = tf.Variable(tf.ones((6, 6)), name="weight")

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        for _ in tf.range(2):
            x = tf.tanh(tf.matmul(x, weight))
        loss = tf.reduce_sum(x)
    weight.assign_sub(0.01 * tape.gradient(loss, weight))

for i in range(3):
    x[:] = np.random.default_rng(i).standard_normal((4, 6))
    step(tf.experimental.dlpack.from_dlpack(x.__dlpack__()))
"""
    script(text, tmp_path, "-o", "dump", "--steps", "all")
    counts = wiring.check(tmp_path / "dump/rank_0")
    assert counts["whole"] > 100 and counts["outside"] > 50 and counts["unknown"] == 0, counts


@pytest.mark.parametrize("name, layer", [("functions", "second"), ("eager", "second")])
def test_a_fault_is_found_in_its_layer(name, layer, recordings):
    directory, _ = recordings(name)
    record(name, directory, "0.01", dump="faulty")
    compared = run([OPDUMP, "compare", "dump", "faulty"], directory, expect=1).stdout
    assert re.search(rf"first bad operator: sequential\S*/{layer}(_1)?/", compared.splitlines()[-1]), compared


@pytest.mark.parametrize("name, steps", [("functions", 3), ("eager", 3), ("fit", 3), ("loops", 3), ("session", 3)])
def test_steps(name, steps, recordings):
    """A step ends with the optimizer; in a program without one, when its function runs again. Initialisers are no step."""
    directory, _ = recordings(name)
    dump = Dump(directory)
    tail = [dump.status["tail_step"]] if dump.status["tail_step"] >= 0 else []
    assert dump.steps() == list(range(steps)) + tail


def test_phases_lines_and_names(recordings):
    dump = Dump(recordings("functions")[0])
    assert dump.operators["sequential_1/third_1/BiasAdd"]["phase"] == "forward"
    gradients = [entry for name, entry in dump.operators.items() if name.startswith("gradient_tape/sequential_1/second_1/")]
    assert gradients and all(entry["phase"] == "backward" for entry in gradients)
    assert any(entry["phase"] == "optimizer" and name.startswith("adam/") for name, entry in dump.operators.items())
    lines = (PROGRAMS / "functions.py").read_text().splitlines()
    source = dump.operators["sequential_1/third_1/BiasAdd"]
    assert source["source_file"].endswith("functions.py") and "model(x, training=True)" in lines[source["source_line"] - 1]


def test_eager_operators_are_named_as_in_a_graph(recordings):
    dump = Dump(recordings("eager")[0])
    assert {"sequential/first/MatMul", "sequential/third/BiasAdd", "gradient_tape/sequential/second/BiasAdd/BiasAddGrad", "sgd/Mul"} <= set(dump.operators)
    assert dump.operators["gradient_tape/sequential/second/BiasAdd/BiasAddGrad"]["phase"] == "backward"
    assert dump.operators["sgd/Mul"]["phase"] == "optimizer"


def test_data_sets_are_not_recorded(recordings):
    dump = Dump(recordings("functions")[0])
    assert "IteratorGetNext" in dump.types()
    multiplied = [entry for name, entry in dump.operators.items() if name in ("mul", "args_0")]
    assert not multiplied


def test_values(recordings):
    fused = next(op for op in opdump.open(recordings("functions")[0] / "dump") if op.name == "sequential_1/third_1/BiasAdd")
    x, weight, bias = (fused[f"input.{i}"].numpy() for i in range(3))
    np.testing.assert_allclose(fused["output.0"].numpy(), x @ weight + bias, rtol=1e-5, atol=1e-6)
    eager = {(op.step, op.name): op for op in opdump.open(recordings("eager")[0] / "dump")}
    for step in range(3):
        product = eager[step, "sequential/first/MatMul"]
        x, weight = (product[f"input.{i}"].numpy() for i in range(2))
        np.testing.assert_allclose(product["output.0"].numpy(), x @ weight, rtol=1e-5, atol=1e-6)
        relu = eager[step, "sequential/first/Relu"]
        np.testing.assert_array_equal(relu["output.0"].numpy(), np.maximum(relu["input.0"].numpy(), 0))


def test_variables_before_and_after_an_update(recordings):
    updates = [op for op in opdump.open(recordings("eager")[0] / "dump") if op.type == "AssignAddVariableOp"]
    assert len(updates) >= 3
    for op in updates:
        before, change, after = (op[slot].numpy() for slot in ("input.0", "input.1", "output.0"))
        np.testing.assert_array_equal(after, before + change)


def test_xla_is_reported(recordings):
    dump = Dump(recordings("compiled")[0])
    assert any("XLA" in loss["reason"] for loss in dump.status["losses"]), dump.status["losses"]
    assert "AddV2" in dump.types() and "Softmax" not in dump.types()


def test_iterations_of_a_loop(recordings):
    names = set(Dump(recordings("loops")[0]).operators)
    tanh = sorted(name for name in names if "Tanh" in name and "gradient" not in name.lower())
    assert len(tanh) == 3 and tanh[1] == tanh[0] + "-1" and tanh[2] == tanh[0] + "-2", tanh


REDIRECTED = """
import os
os.dup2(os.open("own.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
import tensorflow as tf
tf.nn.relu(tf.ones((2, 3)))
os.write(2, b"a line of the program")
"""


def test_lines_of_ours_go_to_the_first_stderr(tmp_path):
    done = script(REDIRECTED, tmp_path, "-o", "dump")
    assert "opdump: dumped" in done.stderr
    text = (tmp_path / "own.txt").read_text()
    assert "opdump:" not in text and "a line of the program" in text


def golden(directory, text, *options):
    """What a program prints, and its golden data without the times in their names."""
    (directory / "infer.py").write_text(text)
    done = run([OPDUMP, "run", "--golden", "golden", *options, "--", PYTHON, "infer.py"], directory)
    return done.stdout, {path.name.rsplit(".", 2)[0]: np.load(path) for path in (directory / "golden").iterdir()}


@pytest.mark.parametrize("options", ["", ", jit_compile=True"])
def test_golden_data_is_of_the_graph_as_written(tmp_path, options):
    printed, found = golden(tmp_path, f"""
import tensorflow as tf
def network(x, weight, bias):
    product = tf.matmul(x, weight, name="product")
    return tf.reshape(tf.nn.relu(tf.nn.bias_add(product, bias, name="sum"), name="positive"), (1, 4), name="flat")
network = tf.function(network{options})
x = tf.constant([[1., -2.], [3., 4.]])
print(network(x, x, tf.constant([1., 2.])).numpy().tolist())
""")
    assert str(found["flat.0"].tolist()) == printed.splitlines()[0]  # a view
    assert found["product.0"].tolist() == [[-5, -10], [15, 10]]
    assert found["sum.0"].tolist() == [[-4, -8], [16, 12]]  # fused with the others, if TensorFlow optimises
    assert found["positive.0"].tolist() == [[0, 0], [16, 12]]


def test_golden_data_of_a_session(tmp_path):
    _, found = golden(tmp_path, """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, (2, 2))
y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, x, name="product"), tf.constant([1., 2.]), name="sum"), name="positive")
with tf.Session(config=tf.ConfigProto()) as session:
    session.run(y, {x: [[1, -2], [3, 4]]})
""")
    assert set(found) == {"product.0", "sum.0", "positive.0"}


def test_steps_of_variables_of_tensorflow_1(tmp_path):
    script("""
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
weight = tf.get_variable("weight", (3, 2))
loss = tf.reduce_sum(tf.square(tf.matmul(tf.ones((4, 3)), weight)))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run([train, loss])
""", tmp_path, "-o", "dump", "--steps", "all")
    dump = Dump(tmp_path)
    assert dump.steps() == [0, 1, 2] and "MatMul" in dump.operators and "MatMul-1" not in dump.operators


BRANCHES = """import sys, tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x = tf.placeholder(tf.float32, (3,), name="x")
def branch():
    with tf.name_scope("norm"):
        return tf.rsqrt(x + EPSILON)
y = tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
_, z = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, tf.tanh(z)), [0, y])
with tf.Session() as session:
    print(session.run(z, {x: [1.0, 2.0, 3.0]}))
"""


def test_lines_and_numbers_in_branches_of_a_session(tmp_path):
    for dump, epsilon in [("dump", "0.125"), ("other", "0.5")]:
        script(BRANCHES.replace("EPSILON", epsilon), tmp_path, "-o", dump)
    lines = {entry["type"]: entry.get("source_line") for entry in Dump(tmp_path).operators.values()}
    assert (lines["Greater"], lines["Rsqrt"], lines["Tanh"]) == (7, 6, 8), lines
    compared = run([OPDUMP, "compare", "dump", "other"], tmp_path, expect=1).stdout.splitlines()[-1]
    assert "norm/add (forward, step 0) at train.py:6" in compared
    assert re.search(r"inputs already differ: input.\d is 0.125 in golden and 0.5 in actual", compared)


def test_an_operator_more_shifts_no_numbers(tmp_path):
    text = """import tensorflow as tf
weights = [tf.Variable(tf.reshape(tf.range(16.0) * 0.01 * (i + 1), (4, 4))) for i in range(3)]
x = tf.ones((2, 4))
with tf.GradientTape() as tape:
    for i, weight in enumerate(weights):
        x = tf.tanh(x @ weight) * 0.5
        if i == 1: x = MORE
    loss = tf.reduce_sum(x * x)
print(tape.gradient(loss, weights)[0].numpy()[0])
"""
    for dump, more in [("dump", "x"), ("other", "x * 1.0"), ("wrong", "x * 1.5")]:
        script(text.replace("MORE", more), tmp_path, "-o", dump)
    compared = run([OPDUMP, "compare", "dump", "other"], tmp_path).stdout
    assert "2 operators are in one run only, and the other run has the results, or nothing reads them: no difference" in compared
    compared = run([OPDUMP, "compare", "dump", "wrong"], tmp_path, expect=1).stdout.splitlines()[-1]
    assert re.search(r"first bad operator: [Mm]ul_\d \(forward", compared), compared
    assert "only in actual, and MatMul_2, which reads what it makes, differs" in compared


@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer(0.1)", "MomentumOptimizer(0.1, 0.9)", "AdamOptimizer(0.1)"])
def test_step_0_of_a_session_trains(tmp_path, optimizer):
    """Whatever variables of its own the optimizer has to initialise before."""
    script(f"""
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
weight = tf.get_variable("weight", (6, 2), initializer=tf.ones_initializer(), use_resource=True)
old = tf.Variable(np.ones(2, np.float32), name="old", use_resource=False)
loss = tf.reduce_mean(tf.square(tf.matmul(tf.ones((3, 6)), weight) + old))
train = tf.train.{optimizer}.minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(2):
        session.run(train)
""", tmp_path, "-o", "dump")
    dump = Dump(tmp_path)
    assert dump.steps() == [0] and dump.status["tail_step"] < 0
    assert any(re.match("(Resource)?Apply", kind) for kind in dump.types()), dump.types()
