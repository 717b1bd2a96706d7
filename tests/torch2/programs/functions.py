# needs torch 2.0
import torch
from torch.func import vmap, grad, jvp, functional_call
torch.manual_seed(0)
w = torch.randn(3)
f = lambda w, x: (w * x).sin().sum()
print(vmap(grad(f), (None, 0))(w, torch.randn(4, 3)))
print(jvp(torch.sin, (w,), (torch.ones(3),)))
m = torch.nn.Linear(3, 2)
print(functional_call(m, dict(m.named_parameters()), torch.ones(1, 3)).shape)
