"""A table with a gap: one batch has a NaN, and no operator made it."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
table = torch.randn(64, 4)
table[42, 1] = float("nan")
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for (rows,) in DataLoader(TensorDataset(table), batch_size=8):
    loss = net(rows).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
