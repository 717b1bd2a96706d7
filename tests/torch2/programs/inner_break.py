# needs torch 2.6
"""A graph that breaks inside of a module, and a module that is compiled inside of another one: inner_break.py [eager]."""
import sys
import torch
compiled = (lambda module, **options: module) if "eager" in sys.argv else torch.compile
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x):
        y = self.first(x).relu()
        torch._dynamo.graph_break()
        return self.second(y) + x
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh())
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        return self.head(x)
torch.manual_seed(0)
net = Net()
whole = compiled(net, backend="aot_eager")
for _ in range(2): print(whole(torch.ones(2, 4)).sum().item())
other = Net()
other.head = compiled(other.head, backend="aot_eager", fullgraph=True)
for _ in range(2): print(other(torch.ones(2, 4)).sum().item())
