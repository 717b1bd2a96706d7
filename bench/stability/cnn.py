"""A convolutional network with batch normalisation and dropout, SGD with momentum."""
import torch
from common import digest, digits
from torch import nn

torch.manual_seed(0)
x, y = digits(64)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                    nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print(loss.item(), digest(net))
