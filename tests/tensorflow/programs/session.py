"""Training in the style of TensorFlow 1."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf
from printed import data, show

tf.disable_v2_behavior()
tf.set_random_seed(1)
config = tf.ConfigProto()
if len(sys.argv) > 1:
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["enable_dump"].b = True
    custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes(sys.argv[1])
    custom_op.parameter_map["dump_step"].s = tf.compat.as_bytes(sys.argv[2])
    custom_op.parameter_map["dump_mode"].s = tf.compat.as_bytes("all")
x, y = tf.placeholder(tf.float32, (None, 6), "x"), tf.placeholder(tf.float32, (None, 2), "y")
weight = tf.get_variable("weight", (6, 2), initializer=tf.glorot_uniform_initializer(seed=2),
                         use_resource=True)
old = tf.Variable(np.ones(2, np.float32), name="old", use_resource=False)
with tf.name_scope("network"):
    output = tf.nn.relu(tf.matmul(x, weight) + old)
loss = tf.reduce_mean(tf.square(output - y), name="loss")
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([train, loss], {x: a, y: b})[1] for a, b in data()]
    show(losses, session.run([weight, old]))
