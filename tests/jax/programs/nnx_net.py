"""Trains a network of flax.nnx, and evaluates it."""

import jax.numpy as jnp
import optax
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm, self.linear = nnx.LayerNorm(8, rngs=rngs), nnx.Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        return x + nnx.relu(self.linear(self.norm(x)))


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first, self.last, self.drop = nnx.Linear(3, 8, rngs=rngs), nnx.Linear(8, 2, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)
        self.blocks = nnx.List([Block(rngs), Block(rngs)])

    def __call__(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(self.drop(x))


@nnx.jit
def step(net, optimizer, x):
    loss, gradients = nnx.value_and_grad(lambda net: (net(x) ** 2).mean())(net)
    optimizer.update(net, gradients)
    return loss


net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adam(1e-2), wrt=nnx.Param)
x = jnp.linspace(0, 1, 12).reshape(4, 3)
for _ in range(3):
    print("loss", float(step(net, optimizer, x)).hex())
net.eval()
print("evaluated", float(net(x).sum()).hex())
