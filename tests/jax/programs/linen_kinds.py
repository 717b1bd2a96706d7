"""Modules of flax.linen in what JAX has for functions. It ends with exit code 3."""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax import jit


def show(name, *values):
    print(name, [np.asarray(value, dtype=np.float64).sum().hex() for value in jax.tree.leaves(values)])


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        x = nn.remat(nn.Dense)(8, name="first")(x)
        x = nn.BatchNorm(use_running_average=not train, name="norm")(x)
        x = nn.Dropout(0.5, deterministic=not train)(nn.relu(x))
        return nn.Dense(3, dtype=jnp.bfloat16, name="last")(x)


net = Net()
x = jnp.linspace(-1, 1, 12).reshape(4, 3)
variables = net.init(jax.random.key(0), x)
apply = functools.partial(net.apply, variables)


class Trainer:
    @functools.partial(jit, static_argnums=0, donate_argnames="state")
    def step(self, params, statistics, state, *, key):
        traces.append("step")
        jax.debug.print("in step {}", x.sum())

        def loss_of(params):
            results, changed = net.apply({"params": params, "batch_stats": statistics}, x, train=True, mutable=["batch_stats"],
                                         rngs={"dropout": key})
            return (results ** 2).mean(), changed["batch_stats"]

        (loss, changed), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), changed, state, loss + np.random.rand()


traces = []
np.random.seed(0)
optimizer, trainer = optax.adam(0.1), Trainer()
params, statistics, state = variables["params"], variables["batch_stats"], optimizer.init(variables["params"])
for number in range(3):
    params, statistics, state, loss = trainer.step(params, statistics, state, key=jax.random.key(number))
    show("loss", loss)
show("trained", params, statistics)
print(len(traces), np.random.rand())

show("gradient of a compiled function", jax.grad(jit(lambda x: apply(x).sum()))(x))
show("vmap in jit", jit(jax.vmap(lambda row: apply(row[None])))(x))
show("scan in jit", jit(lambda rows: jax.lax.scan(lambda carry, row: (carry + 1, apply(row)), 0, rows))(jnp.stack([x, 2 * x])))
show("cond", jit(lambda x: jax.lax.cond(x.sum() > 9, lambda x: apply(x), lambda x: 2 * apply(x), x))(x))
show("static by name", jit(lambda x, *, mode: apply(x) * (2 if mode == "two" else 1), static_argnames="mode")(x, mode="two"))
rnn = nn.RNN(nn.GRUCell(4))
weights = rnn.init(jax.random.key(2), jnp.ones((2, 5, 3)))
show("recurrent", jit(rnn.apply)(weights, jnp.ones((2, 5, 3))))
show("one by one", apply(x), jax.vmap(lambda row: apply(row[None]))(x), jax.grad(lambda x: apply(x).sum())(x))
with jax.checking_leaks():
    show("leaks", jit(lambda x: apply(x) * 3)(x))
print(trainer.step.__name__ if hasattr(trainer.step, "__name__") else "partial", isinstance(Trainer.step, jax.stages.Wrapped))
try:
    jit(lambda x: apply(x.reshape(2, 6)))(x)
except Exception as error:
    print(type(error).__name__)
sys.exit(3)
