"""A convolutional network with options on the command line, a loader with workers, and scikit-learn's digits."""

import argparse

import fingerprint
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--workers", type=int, default=2)
args = parser.parse_args()

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images[:256], dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target[:256])
loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True, num_workers=args.workers)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(0.2),
                      nn.Flatten(), nn.Linear(72, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
for epoch in range(args.epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item().hex()}")
print(fingerprint.of(model.state_dict()))
