"""`opdump run --against` and `opdump diff` of TensorFlow's programs."""

import json

import pytest
from conftest import OPDUMP, PYTHON, run

TRAIN = """
import sys, time
import keras
import tensorflow as tf

keras.utils.set_random_seed(1)
fault, pause = int(sys.argv[1]), float(sys.argv[2])
model = keras.Sequential([keras.layers.Dense(4, activation="relu", name="hidden"), keras.layers.Dense(2, name="output")])
optimizer = keras.optimizers.SGD(0.1)
factor = tf.Variable(1.0)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) * factor - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for i in range(int(sys.argv[3])):
    factor.assign(1.5 if i == fault else 1.0)
    print(i, step(tf.ones((2, 3)), tf.ones((2, 2))).numpy(), flush=True)
    time.sleep(pause)
"""


@pytest.fixture
def golden(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    run([OPDUMP, "run", "-o", "golden", "--steps", "all", "--", PYTHON, "train.py", -1, 0, 40], tmp_path)
    return tmp_path


def test_an_equal_run_takes_no_room(golden):
    done = run([OPDUMP, "run", "--against", "golden", "--check", "--", PYTHON, "train.py", -1, 0, 40], golden)
    assert "no difference: " in done.stderr and " to equal ones of golden" in done.stderr, done.stderr
    files = [path.stat() for path in (golden / "opdump_actual").rglob("*.npy")]
    assert len(files) > 1000 and all(info.st_nlink > 1 for info in files)


def test_it_ends_at_the_first_difference(golden):
    done = run([OPDUMP, "run", "--against", "golden", "--stop-at-first", "--", PYTHON, "train.py", 7, 0.5, 40], golden, expect=1)
    assert "first bad operator: AssignVariableOp (forward, step 7) at train.py:22" in done.stderr, done.stderr
    assert 9 <= len(done.stdout.splitlines()) < 38


def test_diff_finds_the_step(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    done = run([OPDUMP, "diff", "--json", f"{PYTHON} train.py -1 0 12", f"{PYTHON} train.py 7 0 12"], tmp_path, expect=1)
    answer = json.loads(done.stdout)
    assert (answer["outcome"], answer["step"], answer["operator"]) == ("differs", 7, "AssignVariableOp"), answer
