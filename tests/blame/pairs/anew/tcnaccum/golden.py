"""Temporal convolution network, forecasts of a noisy seasonal series. One batch per step."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv(nn.Module):
    def __init__(self, cin, cout, k, dilation):
        super().__init__()
        self.pad = (k - 1) * dilation
        self.conv = nn.Conv1d(cin, cout, k, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))


class TemporalBlock(nn.Module):
    def __init__(self, cin, cout, k, dilation):
        super().__init__()
        self.conv1 = CausalConv(cin, cout, k, dilation)
        self.conv2 = CausalConv(cout, cout, k, dilation)
        self.down = nn.Conv1d(cin, cout, 1) if cin != cout else None

    def forward(self, x):
        y = F.relu(self.conv1(x))
        y = F.relu(self.conv2(y))
        return F.relu(y + (x if self.down is None else self.down(x)))


class TCN(nn.Module):
    def __init__(self, feats=3, width=12, levels=3, k=3):
        super().__init__()
        self.blocks = nn.Sequential(*[TemporalBlock(feats if i == 0 else width, width, k, 2 ** i) for i in range(levels)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.blocks(x).transpose(1, 2)).squeeze(-1)


def series(n=400):
    t = torch.arange(n).float()
    g = torch.Generator().manual_seed(9)
    s = torch.sin(t / 5) + 0.5 * torch.sin(t / 17) + 0.1 * torch.randn(n, generator=g)
    return torch.stack([s, torch.sin(t / 5), torch.cos(t / 5)])


def main():
    torch.manual_seed(1)
    model = TCN()
    f = "init.pt"
    if not os.path.exists(f):
        torch.save(model.state_dict(), f)
    model.load_state_dict(torch.load(f))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = series()
    g = torch.Generator().manual_seed(2)
    for step in range(4):
        start = torch.randint(0, 300, (12,), generator=g)
        x = torch.stack([data[:, s:s + 40] for s in start])
        y = torch.stack([data[0, s + 1:s + 41] for s in start])
        loss = F.smooth_l1_loss(model(x), y, beta=0.5)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.7f}")


main()
