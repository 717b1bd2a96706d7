"""A small network of PyTorch that is trained for two steps: dumped by msprobe with the configuration CONFIG, or by nobody.

Usage: msprobe_net.py [CONFIG] [--wrong]"""

import sys

import torch
from torch import nn
from torch.nn import functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, 3)
        self.norm = nn.BatchNorm2d(3, eps=1e-5)
        self.block = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(3 * 6 * 6, 8))
        self.head = nn.Linear(8, 4)

    def forward(self, images):
        hidden = self.block(self.norm(self.conv1(images)))
        return self.head(functional.gelu(hidden))


def fill(model):
    """The same numbers with every release of PyTorch."""
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            count = torch.arange(parameter.numel(), dtype=torch.float64)
            parameter.copy_((torch.sin(count * 0.7 + number) * 0.4).reshape(parameter.shape))


def main():
    configs = [word for word in sys.argv[1:] if not word.startswith("--")]
    torch.manual_seed(1)
    model = Net()
    fill(model)
    if "--wrong" in sys.argv:
        model.norm.eps = 0.3
    debugger = None
    if configs:
        from msprobe.pytorch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=configs[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(2):
        if debugger:
            debugger.start(model=model)
        images = torch.cos(torch.arange(5 * 64, dtype=torch.float32) * (0.3 + 0.1 * step)).reshape(5, 1, 8, 8)
        scores = model(images)
        loss = functional.cross_entropy(scores, torch.arange(5) % 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if debugger:
            debugger.stop()
            debugger.step()
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
