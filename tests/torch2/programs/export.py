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
# Where symbols stand for sizes, a question about a tensor would fix them to numbers.
ep = torch.export.export(m, (torch.randn(3, 4),), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},))
ep.run_decompositions()
print([node.meta["val"].shape for node in ep.graph.nodes if "val" in node.meta])
print(m(torch.ones(1, 4)).shape)
