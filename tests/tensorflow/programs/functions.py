"""A training step in a tf.function, with dropout and a data set that another thread prepares."""

import keras
import tensorflow as tf
from printed import data, fault, show

keras.utils.set_random_seed(1)


def crooked(x):
    return tf.nn.leaky_relu(x, alpha=0.2 + fault())


model = keras.Sequential([keras.layers.Dense(8, activation="relu", name="first"), keras.layers.Dropout(0.25),
                          keras.layers.Dense(5, activation=crooked, name="second"), keras.layers.Dense(2, name="third")])
model.build((4, 6))
optimizer = keras.optimizers.Adam(0.01)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


x, y = (tf.concat(part, 0) for part in zip(*data()))
batches = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 2.0, b), num_parallel_calls=2).batch(4).prefetch(2)
show([step(x, y) for x, y in batches], model.variables)
