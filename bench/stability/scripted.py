"""A scripted module inside of an eager one, with control flow that depends on data."""
import torch
from common import digest, digits
from torch import nn

torch.manual_seed(0)


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(64, 64)

    def forward(self, x):
        for _ in range(2):
            if bool(x.mean() > 0.1):
                x = torch.tanh(self.inner(x))
            else:
                x = x + 1.0
        return x


net = nn.Sequential(nn.Flatten(), torch.jit.script(Gate()), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = digits(32)
with torch.jit.fuser("none"):
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
print(loss.item(), digest(net))
