"""torch.jit: script, trace, a scripted module that is trained, saved and loaded."""

import io
import torch
from printed import *

torch.manual_seed(0)


@torch.jit.script
def relu_twice(x, n: int):
    for _ in range(n):
        x = torch.relu(x) * 2
    return x


with watched():
    show("function", relu_twice(torch.randn(3), 2))
    scripted = torch.jit.script(Net())
    train(scripted)
    show("attributes", scripted.training, [name for name, _ in scripted.named_children()], scripted.original_name)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file).eval()
    show("loaded", loaded(torch.ones(2, 4)))
    traced = torch.jit.trace(Net().eval(), torch.randn(2, 4))
    show("traced", traced(torch.ones(2, 4)), sorted({node.kind() for node in traced.graph.nodes()}))
    show_error("raises", lambda: scripted(torch.ones(2, 9)))
show_state()
