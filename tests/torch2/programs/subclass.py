# needs torch 2.0
import torch
from torch.utils._python_dispatch import TorchDispatchMode
torch.manual_seed(0)
class Count(TorchDispatchMode):
    n = 0
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        Count.n += 1; return f(*args, **(kwargs or {}))
with Count():
    m = torch.nn.Linear(3, 3); m(torch.ones(2, 3)).sum().backward()
print(Count.n)
class T(torch.Tensor): pass
print(type(torch.ones(3).as_subclass(T) + 1))
with torch.device("meta"): print(torch.nn.Linear(3, 3).weight.device)
