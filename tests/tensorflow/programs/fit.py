"""Model.fit with a convolution, batch normalisation and a metric."""

import keras
import numpy as np
from printed import show

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.BatchNormalization(),
                          keras.layers.MaxPooling2D(), keras.layers.Flatten(), keras.layers.Dense(3)])
model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"],
              jit_compile=False)
generator = np.random.default_rng(3)
x, y = generator.standard_normal((12, 8, 8, 1), np.float32), generator.integers(0, 3, 12)
history = model.fit(x, y, batch_size=4, epochs=1, shuffle=True, verbose=0)
show(history.history["loss"], model.variables)
