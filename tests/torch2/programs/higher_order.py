# needs torch 2.6
"""Operators that torch looks up in Python, and models inside of its transformations."""
import torch
from torch.nn.attention.flex_attention import flex_attention

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
x = torch.randn(5, 3)
print(torch.func.vmap(model)(x).sum().item(), torch.func.grad(lambda x: model(x).sum())(x).sum().item())
query = torch.randn(1, 2, 16, 8)
with torch.no_grad():
    print(flex_attention(query, query, query).sum().item())
    print(torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)).sum().item())
