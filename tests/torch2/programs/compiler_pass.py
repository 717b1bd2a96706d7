# needs torch 2.6
# A pass of inductor that its author got wrong, if the argument is "wrong": it turns a cosine into a sine.
import sys

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass


class Swap(CustomGraphPass):
    def __call__(self, graph):
        for node in graph.nodes:
            if node.target == torch.ops.aten.cos.default:
                node.target = torch.ops.aten.sin.default

    def uuid(self):
        return "swap"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.first(x).cos()).sigmoid()


torch.manual_seed(0)
model = Model()
if sys.argv[1:] == ["wrong"]:
    torch._inductor.config.post_grad_custom_post_pass = Swap()
run = model if sys.argv[1:] == ["eager"] else torch.compile(model)
loss = run(torch.randn(3, 8)).square().mean()
loss.backward()
print(loss.item())
