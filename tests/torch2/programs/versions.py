"""A network whose layers PyTorch computes in different ways in different versions; --scale puts a fault into it."""

import sys

import numpy as np
import torch
from torch import nn

draws = np.random.default_rng(0)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.split = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 16, 3, groups=2)
        self.groups, self.head = nn.GroupNorm(4, 16), nn.Linear(16, 10)
        self.lstm, self.gru = nn.LSTM(16, 24, 2, batch_first=True, bidirectional=True), nn.GRU(48, 16, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        x = nn.functional.silu(self.groups(self.split(x))).mean(2).transpose(1, 2)
        x = self.encoder(self.gru(self.lstm(x)[0])[0])
        if "--scale" in sys.argv:
            x = x * 1.01
        x = nn.functional.interpolate(x.transpose(1, 2), scale_factor=2.0, mode="linear")
        return self.head(x.mean(2))


net = Net()
with torch.no_grad():
    for weight in net.parameters():
        weight.copy_(torch.from_numpy(draws.standard_normal(weight.shape).astype("float32") * 0.2))
rate = 1.1e-3 if "--rate" in sys.argv else 1e-3
update = torch.optim.Adam(net.parameters(), lr=rate, weight_decay=0.01)
for _ in range(2):
    x, y = torch.from_numpy(draws.standard_normal((8, 1, 16, 16)).astype("float32")), torch.from_numpy(draws.integers(0, 10, 8))
    update.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    update.step()
    print(loss.item())
