"""Control flow: a while loop, a condition and a nested function, without an optimizer."""

import tensorflow as tf
from printed import data, show

tf.random.set_seed(1)
weight = tf.Variable(tf.random.normal((6, 6)), name="weight")


@tf.function
def inner(x):
    return tf.tanh(tf.matmul(x, weight))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        for _ in tf.range(3):
            x = inner(x) + 0.5
        loss = tf.reduce_sum(x) if tf.reduce_sum(x) > 0.0 else -tf.reduce_sum(x)
    weight.assign_sub(0.01 * tape.gradient(loss, weight))
    return loss


show([step(x) for x, _ in data()], [weight])
