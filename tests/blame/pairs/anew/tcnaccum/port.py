#!/usr/bin/env python
# tcn2: channels-last TCN whose convolutions are sums of shifted products; micro-batches of 4.
import sys
import torch
from torch import nn

FAULT = "".join(sys.argv[1:])


class ShiftConv(nn.Module):
    """A causal convolution over (batch, time, channels)."""

    def __init__(self, weight, bias, step):
        super().__init__()
        self.taps = nn.Parameter(weight.permute(2, 1, 0).contiguous())  # k, in, out
        self.bias = nn.Parameter(bias.clone())
        self.step = step

    def forward(self, x):
        k = self.taps.shape[0]
        out = self.bias
        for i in range(k):
            lag = (k - 1 - i) * self.step
            if FAULT == "fault1":
                lag = max(lag - 1, 0)  # FAULT1: the lag is one too small
            shifted = x if lag == 0 else torch.cat([torch.zeros_like(x[:, :lag]), x[:, :-lag]], dim=1)
            out = out + shifted @ self.taps[i]
        return out


class Forecaster(nn.Module):
    def __init__(self, sd):
        super().__init__()
        self.stages = nn.ModuleList()
        self.shortcut = nn.ModuleList()
        for n in range(3):
            pre = f"blocks.{n}."
            self.stages.append(nn.ModuleList(
                ShiftConv(sd[pre + c + ".conv.weight"], sd[pre + c + ".conv.bias"], 2 ** n) for c in ("conv1", "conv2")))
        self.shortcut = ShiftConv(sd["blocks.0.down.weight"], sd["blocks.0.down.bias"], 1)
        self.readout = ShiftConv(sd["head.weight"][:, :, None], sd["head.bias"], 1)

    def forward(self, x):
        for n, (a, b) in enumerate(self.stages):
            side = self.shortcut(x) if n == 0 else x
            x = (b(a(x).clamp(min=0)).clamp(min=0) + side).clamp(min=0)
        return self.readout(x)[..., 0]


def huber(e, beta=0.5):
    a = e.abs()
    return torch.where(a < beta, a * a / (2 * beta), a - beta / 2)


def windows(values, start, n):
    idx = start.unsqueeze(1) + torch.arange(n)
    return values[idx]


def run(micro=3, rows=4):
    net = Forecaster(torch.load("init.pt"))
    time = torch.arange(400.0)
    noise = torch.randn(400, generator=torch.Generator().manual_seed(9))
    values = torch.stack([torch.sin(time / 5) + 0.5 * torch.sin(time / 17) + 0.1 * noise,
                          torch.sin(time / 5), torch.cos(time / 5)], dim=-1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    gen = torch.Generator().manual_seed(2)
    for step in range(4):
        start = torch.randint(0, 300, (micro * rows,), generator=gen)
        sgd.zero_grad()
        total = 0.0
        for part in start.split(rows):
            w = windows(values, part, 41)
            err = net(w[:, :-1]) - w[:, 1:, 0]
            if FAULT == "fault2":
                loss = torch.where(err.abs() < 0.5, err * err / 2, err.abs() - 0.25).mean()  # FAULT2: wrong slope of the square part
            else:
                loss = huber(err).mean()
            (loss / micro).backward()
            total += loss.item() / micro
        sgd.step()
        print("step", step, "loss", round(total, 7))


run()
