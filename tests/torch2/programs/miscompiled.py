# needs torch 2.1
# Its second compiled region computes something else, if the argument is "wrong".
import sys

import torch


def backend(graph, inputs):
    is_wrong = sys.argv[1:] == ["wrong"] and any(node.target == "cos" for node in graph.graph.nodes)

    def run(*args):
        results = graph(*args)
        return tuple(value * 1.01 for value in results) if is_wrong else results

    return run


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        x = self.first(x).relu()
        torch._dynamo.graph_break()
        x = x.cos() + 1
        torch._dynamo.graph_break()
        return self.last(x).sigmoid()


torch.manual_seed(0)
model = Model()
run = model if sys.argv[1:] == ["eager"] else torch.compile(model, backend=backend)
with torch.no_grad():
    print(run(torch.randn(3, 8)).sum().item())
