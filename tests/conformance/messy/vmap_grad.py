"""functorch: vmap, grad, vmap(grad), jvp, make_functional."""

import functorch
import torch
from told import *

torch.manual_seed(0)
with watched():
    x = torch.randn(4, 3)
    f = lambda v: (v.sin() * v).sum()
    tell("vmap", functorch.vmap(torch.sin)(x))
    tell("grad", functorch.grad(f)(x[0]))
    tell("vmap grad", functorch.vmap(functorch.grad(f))(x))
    tell("hessian", functorch.jacrev(functorch.grad(f))(x[0]))
    tell("jvp", functorch.jvp(torch.exp, (x,), (torch.ones_like(x),))[1])
    model = Net().eval()
    function, parameters, buffers = functorch.make_functional_with_buffers(model)
    loss = lambda p, b, sample: function(p, b, sample.unsqueeze(0)).square().mean()
    per_sample = functorch.vmap(functorch.grad(loss), (None, None, 0))(parameters, buffers, torch.randn(5, 4))
    tell("per sample", list(per_sample))
    tell("vmap overflow", functorch.vmap(functorch.grad(lambda v: (v.exp() * 1e30).sum()))(x * 100))
    train(model.train(), steps=1)
tell_state()
