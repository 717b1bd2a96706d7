"""Training operator by operator."""

import keras
import tensorflow as tf
from printed import data, fault, show

keras.utils.set_random_seed(1)


def crooked(x):
    return tf.nn.leaky_relu(x, alpha=0.2 + fault())


model = keras.Sequential([keras.layers.Dense(8, activation="relu", name="first"), keras.layers.Dropout(0.25),
                          keras.layers.Dense(5, activation=crooked, name="second"), keras.layers.Dense(2, name="third")])
model.build((4, 6))
optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
losses = []
for x, y in data():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    losses.append(loss)
show(losses, model.variables)
