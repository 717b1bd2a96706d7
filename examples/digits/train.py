"""Trains a small AlexNet-style network on the handwritten digits that come with scikit-learn.

An ordinary PyTorch script: it knows nothing of opdump. `--fault` makes one operator subtly wrong, as a port to another
device easily does; find out which with `opdump compare` (see README.md beside this file).
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn


class DigitsNet(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(64, eps=1e-3 if fault == "epsilon" else 1e-5)  # 1e-3 is another framework's default
        self.pool = nn.MaxPool2d(2)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(64 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        if self.fault == "precision":  # this one layer computes in bfloat16
            with torch.autocast("cpu", dtype=torch.bfloat16):
                x = self.conv2(x)
            x = x.float()
        else:
            x = self.conv2(x)
        x = self.pool(torch.relu(self.norm2(x)))
        return self.classifier(x.flatten(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--fault", choices=["none", "precision", "epsilon"], default="none")
    args = parser.parse_args()

    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    model = DigitsNet(args.fault)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()

    for step in range(args.steps):
        chosen = torch.randint(len(images), (args.batch,))
        optimizer.zero_grad()
        loss = loss_function(model(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        if step % 5 == 0 or step == args.steps - 1:
            print(f"step {step:3d}  loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        accuracy = (model(images).argmax(1) == labels).float().mean().item()
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
