"""Convolutions, batch normalisation, pooling, channels last, in-place activations."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 4, 3, groups=2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 2))
    train(model, make=lambda: torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last))
    model.eval()
    with torch.no_grad():
        show("eval", model(torch.randn(2, 3, 8, 8)))
show_state()
