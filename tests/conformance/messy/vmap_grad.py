"""functorch: vmap, grad, vmap(grad), jvp, make_functional."""

import functorch
import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(4, 3)
    f = lambda v: (v.sin() * v).sum()
    show("vmap", functorch.vmap(torch.sin)(x))
    show("grad", functorch.grad(f)(x[0]))
    show("vmap grad", functorch.vmap(functorch.grad(f))(x))
    show("hessian", functorch.jacrev(functorch.grad(f))(x[0]))
    show("jvp", functorch.jvp(torch.exp, (x,), (torch.ones_like(x),))[1])
    model = Net().eval()
    function, parameters, buffers = functorch.make_functional_with_buffers(model)
    loss = lambda p, b, sample: function(p, b, sample.unsqueeze(0)).square().mean()
    per_sample = functorch.vmap(functorch.grad(loss), (None, None, 0))(parameters, buffers, torch.randn(5, 4))
    show("per sample", list(per_sample))
    show("vmap overflow", functorch.vmap(functorch.grad(lambda v: (v.exp() * 1e30).sum()))(x * 100))
    train(model.train(), steps=1)
show_state()
