"""Weights and data of the eight networks, the same for MindSpore and PyTorch: NumPy makes them of names and shapes."""
import zlib

import numpy as np

NAMES = ("transformer", "gru", "unet", "resnet", "bag", "mlp", "convbn", "attention")
WIDTH, HEADS, LENGTH, VOCABULARY, STEPS = 16, 2, 6, 20, 2
TORCH_NAMES = {"embedding_table": "weight", "gamma": "weight", "beta": "bias", "moving_mean": "running_mean",
               "moving_variance": "running_var"}


def torch_name(name):
    return ".".join(TORCH_NAMES.get(part, part) for part in name.split("."))


def weight(name, shape):
    """Of PyTorch's `name`, which is drawn by itself, so that the order of parameters does not count."""
    values = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape)
    if name.endswith("bias") or "bias_" in name:
        return (0.1 * values).astype(np.float32)
    if len(shape) == 1:  # the factor of a norm
        return (1 + 0.1 * values).astype(np.float32)
    return (values / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def batch(network, step):
    """What the network reads, and its target."""
    random = np.random.default_rng([zlib.crc32(network.encode()), step])
    if network in ("transformer", "bag"):
        x = random.integers(0, VOCABULARY, (3, LENGTH)).astype(np.int32)
    elif network in ("unet", "resnet", "convbn"):
        x = random.standard_normal((3, 2, 8, 8)).astype(np.float32)
    else:
        x = random.standard_normal((3, LENGTH, WIDTH)).astype(np.float32)
    shapes = {"transformer": (3, LENGTH, VOCABULARY), "unet": (3, 2, 8, 8), "mlp": (3, LENGTH, 5), "attention": (3, LENGTH, WIDTH)}
    return x, random.standard_normal(shapes.get(network, (3, 5))).astype(np.float32)


MASK = np.triu(np.ones((LENGTH, LENGTH), np.float32), 1)
