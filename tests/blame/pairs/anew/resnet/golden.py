"""A small ResNet for 16x16 images, SGD with momentum; an evaluation at the end."""
import os, sys
import torch
import torch.nn as nn
import torch.optim as optim
import numpy as np



class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or in_planes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 8))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer2(self.layer1(x))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


def images():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 5, 96)
    x = rng.standard_normal((96, 3, 16, 16)) + 0.5 * y[:, None, None, None] * np.linspace(-1, 1, 16)
    return x.astype(np.float32), y


torch.manual_seed(0)
net = ResNet()
torch.save(net.state_dict(), "init.pt")
x, y = images()
train_set = torch.utils.data.TensorDataset(torch.from_numpy(x[:64]), torch.from_numpy(y[:64]))
loader = torch.utils.data.DataLoader(train_set, batch_size=16)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
net.train()
for step, (inputs, targets) in enumerate(loader):
    optimizer.zero_grad()
    loss = criterion(net(inputs), targets)
    loss.backward()
    optimizer.step()
    print(f"[{step}] train loss {loss.item():.7f}")
net.eval()
with torch.no_grad():
    out = net(torch.from_numpy(x[64:]))
    print(f"test loss {criterion(out, torch.from_numpy(y[64:])).item():.7f} correct {(out.argmax(1) == torch.from_numpy(y[64:])).sum().item()}")
