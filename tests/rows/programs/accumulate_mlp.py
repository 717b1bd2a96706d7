"""A regression with gradient accumulation: accumulate_mlp.py [micro=4] [fault=epsilon|undivided|zeroed|scale]"""
import sys
import torch
from torch import nn

opts = dict(a.partition("=")[::2] for a in sys.argv[1:])
fault, n_micro = opts.get("fault"), int(opts.get("micro", 1))
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.norm = nn.Linear(6, 16), nn.LayerNorm(16, eps=1e-2 if fault == "epsilon" else 1e-5)
        self.hidden, self.out = nn.Linear(16, 16), nn.Linear(16, 1)

    def forward(self, x):
        x = torch.tanh(self.norm(self.inp(x)))
        x = x + torch.relu(self.hidden(x)) * (0.9 if fault == "scale" else 1.0)
        return self.out(x).squeeze(-1)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.MSELoss()
inputs, targets = torch.randn(3, 8, 6), torch.randn(3, 8)
for step in range(3):
    optimizer.zero_grad()
    for x, y in zip(inputs[step].chunk(n_micro), targets[step].chunk(n_micro)):
        if fault == "zeroed":
            optimizer.zero_grad()
        loss = criterion(net(x), y)
        if n_micro > 1 and fault != "undivided":
            loss = loss / n_micro
        loss.backward()
    optimizer.step()
