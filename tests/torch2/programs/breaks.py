# needs torch 2.1
import torch


def function(x):
    x = x.sin()
    torch._dynamo.graph_break()
    return x.cos()


torch.manual_seed(0)
compiled = torch.compile(function)
for size in (3, 3, 4):
    print(compiled(torch.randn(size)))
