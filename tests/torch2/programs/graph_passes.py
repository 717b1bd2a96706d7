# needs torch 2.1
# A backend of one's own that changes the graph and runs it: with the argument "wrong" it takes another GELU.
import sys

import torch


def backend(graph, inputs):
    for node in graph.graph.nodes:
        if sys.argv[1:] == ["wrong"] and getattr(node.target, "__name__", "") == "gelu":
            node.kwargs = {**node.kwargs, "approximate": "tanh"}
    graph.recompile()
    return graph.forward


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


torch.manual_seed(0)
model = torch.nn.Sequential(Block(), Block())
run = model if sys.argv[1:] == ["eager"] else torch.compile(model, backend=backend)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = run(torch.randn(3, 8)).square().sum()
    loss.backward()
    optimizer.step()
print(loss.item())
