"""A function that XLA compiles, and one around it that it does not."""

import tensorflow as tf
from printed import data, show

tf.random.set_seed(1)
weight = tf.Variable(tf.random.normal((6, 2)), name="weight")


@tf.function(jit_compile=True)
def compiled(x):
    return tf.nn.softmax(tf.matmul(x, weight) * 3.0)


@tf.function
def around(x, y):
    return tf.reduce_mean(tf.square(compiled(x + 1.0) - y))


show([around(x, y) for x, y in data()], [weight])
