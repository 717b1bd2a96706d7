"""opdump.record in a program of TensorFlow, and what it cannot do."""

from conftest import PROGRAMS, PYTHON, run

RECORD = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
import opdump

with opdump.record("dump", steps="all") as recording:
    for i in range(2):
        with tf.name_scope("layer"):
            x = tf.matmul(tf.ones((2, 3)), tf.fill((3, 2), float(i)))
        tf.nn.relu(x)
        assert opdump.active() and opdump.current_step() == i
        opdump.step()
print(recording.complete)
for operator in recording.open():
    print(operator.step, operator.name)
"""


def python(text, directory, package, expect=0):
    (directory / "program.py").write_text(text)
    return run([PYTHON, "program.py"], directory, expect, PYTHONPATH=f"{package}:{PROGRAMS}")


def test_record(tmp_path, package):
    done = python(RECORD, tmp_path, package)
    lines = done.stdout.splitlines()
    assert lines[0] == "True"
    assert {"0 layer/MatMul", "0 Relu", "1 layer/MatMul", "1 Relu"} <= set(lines[1:]), done.stdout


def test_after_the_first_operator(tmp_path, package):
    done = python(RECORD.replace("with opdump", "tf.ones(3)\nwith opdump", 1), tmp_path, package, expect=1)
    assert "TensorFlow has run an operator already" in done.stderr
