"""Trains a port to flax.linen of a network of torch_nets.py, with its weights: flax_nets.py NETWORK WEIGHTS.npz [FAULT]."""

import sys

import jax
import numpy
import optax
from flax import linen as nn

FAULT = sys.argv[3] if len(sys.argv) > 3 else None


def gelu(x):
    return nn.gelu(x, approximate=FAULT == "gelu")


class Attention(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        split = lambda y: y.reshape(*y.shape[:2], self.heads, -1)
        q, k, v = (split(nn.Dense(width, name=name)(x)) for name in ("query", "key", "value"))
        if FAULT == "scale":
            q = q * 0.9
        return nn.Dense(width, name="out")(nn.dot_product_attention(q, k, v).reshape(x.shape))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        norm = lambda name: nn.LayerNorm(epsilon=1e-3 if FAULT == "eps" else 1e-5, name=name)
        x = x + Attention(4, name="attention")(norm("norm1")(x))
        return x + nn.Dense(x.shape[-1], name="down")(gelu(nn.Dense(4 * x.shape[-1], name="up")(norm("norm2")(x))))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(20, 16, name="embed")(tokens)
        for number in range(2):
            x = Block(name=f"blocks_{number}")(x)
        return nn.Dense(5, name="head")(nn.LayerNorm(epsilon=1e-5, name="norm")(x)).mean(1)


class Convolutions(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (3, 3), name="conv1")(x)
        x = nn.BatchNorm(use_running_average=False, momentum=0.9, epsilon=1e-2 if FAULT == "eps" else 1e-5, name="norm1")(x)
        x = (nn.avg_pool if FAULT == "pool" else nn.max_pool)(nn.relu(x), (2, 2), (2, 2))
        x = nn.relu(nn.Conv(6, (3, 3), strides=2, padding=1, name="conv2")(x))
        return nn.Dense(5, name="head")(x.mean((1, 2)))


class Layers(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.LayerNorm(epsilon=1e-2 if FAULT == "eps" else 1e-5, name="norm")(nn.Dense(16, name="first")(x)))
        return nn.Dense(5, name="last")(nn.tanh(nn.Dense(16, name="second")(x)))


def place_of(name, value):
    """Where Flax keeps a tensor of PyTorch, and how."""
    *path, last = name.replace("blocks.", "blocks_").split(".")
    if last == "num_batches_tracked":
        return None
    if last == "weight" and value.ndim >= 2 and "embed" not in path:
        is_kept = FAULT == "kernel" and path[-1] == "second"
        return "params", (*path, "kernel"), value if is_kept else numpy.moveaxis(value, (0, 1), (-1, -2))
    kinds = {"weight": "embedding" if "embed" in path else "scale", "bias": "bias", "running_mean": "mean", "running_var": "var"}
    return "batch_stats" if last.startswith("running") else "params", (*path, kinds[last]), value


def main():
    name, weights = sys.argv[1:3]
    net = {"mlp": Layers, "cnn": Convolutions, "transformer": Transformer}[name]()
    variables = {"params": {}, "batch_stats": {}}
    for key, value in numpy.load(weights).items():
        if place := place_of(key, value):
            collection, path, array = place
            inside = variables[collection]
            for part in path[:-1]:
                inside = inside.setdefault(part, {})
            inside[path[-1]] = jax.numpy.asarray(array)
    random = numpy.random.default_rng(0)
    optimizer = optax.sgd(0.1)
    state = optimizer.init(variables["params"])

    @jax.jit
    def step(params, statistics, state, inputs):
        def loss_of(params):
            results, changed = net.apply({"params": params, "batch_stats": statistics}, inputs, mutable=["batch_stats"])
            return (results ** 2).mean(), changed.get("batch_stats", {})

        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), statistics, state, loss

    params, statistics = variables["params"], variables["batch_stats"]
    for _ in range(2):
        inputs = {"mlp": lambda: random.normal(size=(4, 12)).astype("f"),
                  "cnn": lambda: random.normal(size=(4, 3, 8, 8)).astype("f").transpose(0, 2, 3, 1),
                  "transformer": lambda: random.integers(0, 20, (4, 6))}[name]()
        params, statistics, state, loss = step(params, statistics, state, inputs)
        print(f"loss {float(loss):.5f}")


main()
