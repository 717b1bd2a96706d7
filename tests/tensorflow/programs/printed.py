"""What every program prints: digests of its losses, its variables and TensorFlow's random state."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import hashlib
import sys

import numpy as np
import tensorflow as tf


def digest(values):
    content = hashlib.sha256()
    for value in values:
        content.update(np.asarray(value).tobytes())
    return content.hexdigest()[:16]


def show(losses, variables):
    for loss in losses:
        print("loss", np.asarray(loss).tobytes().hex())
    print("variables", digest(variables))
    if tf.executing_eagerly():
        print("random", digest([tf.random.uniform([4]), tf.random.Generator.from_seed(7).normal([4])]))


def data(count=3, batch=4):
    generator = np.random.default_rng(3)
    return [(generator.standard_normal((batch, 6), np.float32), generator.standard_normal((batch, 2), np.float32))
            for _ in range(count)]


def fault():
    """How much the second layer is off: 0, or what the program was asked for."""
    return float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
