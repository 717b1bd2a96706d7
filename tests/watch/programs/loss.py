"""One batch of 60 has labels on another scale. With --log the program says itself what its loss is."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(60):
    x = torch.randn(64, 4)
    target = x.sum(1, keepdim=True) * (40 if step == 37 else 1)
    loss = nn.functional.l1_loss(net(x), target)
    if "--log" in sys.argv:
        import opdump

        opdump.log("loss", loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
