"""What cannot be recorded."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jax.experimental import io_callback

net = nn.Dense(2)
x = jnp.ones((3, 4))
variables = net.init(jax.random.key(0), x)
heard = []


def hear(value):
    heard.append(float(value))
    return np.float32(len(heard))


@jax.jit
def speaks(x):
    return net.apply(variables, x).sum() + io_callback(hear, jax.ShapeDtypeStruct((), jnp.float32), x.sum(), ordered=True)


ahead = jax.jit(net.apply).lower(variables, x).compile()
print(float(speaks(x)), float(speaks(x)), heard, float(ahead(variables, x).sum()))
