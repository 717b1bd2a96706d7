# needs torch 2.1
import torch
from torch.fx.experimental.proxy_tensor import make_fx
torch.manual_seed(0)
m = torch.nn.Linear(4, 2)
ep = torch.export.export(m, (torch.randn(3, 4),))
print(ep.graph_module.code.strip().splitlines()[-1])
print(make_fx(lambda x: x.sin() + 1)(torch.randn(3)).code.strip().splitlines()[-1])
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode(): print((torch.ones(3) + 1).shape)
print(m(torch.ones(1, 4)).shape)
