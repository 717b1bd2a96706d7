# needs torch 2.1
import torch
class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.layers = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(4,4), torch.nn.GELU()) for _ in range(2)])
    def forward(s, x):
        for l in s.layers: x = l(x).relu()
        return x
torch.manual_seed(0)
m = M()
import sys
how = sys.argv[1] if len(sys.argv) > 1 else "whole"
c = torch.compile(m, fullgraph=True) if how == "whole" else m
if how == "layers":  # which are alike: one graph serves both
    m.layers = torch.nn.ModuleList(torch.compile(layer) for layer in m.layers)
c(torch.randn(2,4)).sum().backward(); print(next(m.parameters()).grad.sum())
