"""torch.fx, make_fx, and patches of torch.nn.Module.__call__ that the program makes itself."""

import torch.fx
from torch.fx.experimental.proxy_tensor import make_fx
import torch
from printed import *

torch.manual_seed(0)
with watched():
    graph = torch.fx.symbolic_trace(Net().eval())
    show("fx", [node.name for node in graph.graph.nodes], graph(torch.ones(2, 4)))
    made = make_fx(lambda x: (x.sin() @ x).relu())(torch.randn(3, 3))
    show("make_fx", [str(node.target) for node in made.graph.nodes], made(torch.ones(3, 3)))
    original = torch.nn.Module.__call__
    calls = []

    def counting(self, *args, **kwargs):
        calls.append(type(self).__name__)
        return original(self, *args, **kwargs)

    torch.nn.Module.__call__ = counting
    show("patched", Net().eval()(torch.ones(2, 4)), calls)
    torch.nn.Module.__call__ = original
    show("meta", tuple((torch.empty(3, device="meta") + 1).shape))
show_state()
