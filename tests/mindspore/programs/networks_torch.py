"""The same networks in PyTorch: networks_torch.py NAME [FAULT]. A fault is a number of the program, or a weight."""
import sys

import torch
from network_data import HEADS, LENGTH, MASK, STEPS, VOCABULARY, WIDTH, batch, weight
from torch import nn
from torch.nn import functional as F

NAME, FAULT = sys.argv[1], (sys.argv[2:] or [""])[0]
torch.set_num_threads(1)


def conv(inputs, outputs, size=3, bias=True):
    return nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=bias)


def norm(features, is_wrong=False):
    return nn.LayerNorm(features, eps=1e-1 if is_wrong and FAULT == "eps" else 1e-5)


def batch_norm(features, is_wrong=False):
    return nn.BatchNorm2d(features, eps=1e-1 if is_wrong and FAULT == "eps" else 1e-5)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.mask = torch.from_numpy(MASK)

    def split(self, x):
        return x.view(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / (2.9 if FAULT == "divisor" else 2.8284)
        weights = (scores + self.mask * (-1.0 if FAULT == "mask" else -1e4)).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(-1, LENGTH, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = norm(WIDTH), norm(WIDTH, True), Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block, self.norm, self.head = nn.Embedding(VOCABULARY, WIDTH), Block(), norm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        x = self.embed(x.long())
        for _ in range(2):
            x = self.block(x)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.fc = nn.GRUCell(WIDTH, WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, x):
        h = torch.full((3, WIDTH), 0.5 if FAULT == "state" else 0.0)
        for i in range(LENGTH):
            h = self.cell(x[:, i], h)
        return self.fc(h)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.pool, self.middle = conv(2, 4), (nn.AvgPool2d if FAULT == "pool" else nn.MaxPool2d)(2, 2), conv(4, 8)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), conv(8, 2)

    def forward(self, x):
        skip = torch.relu(self.down(x))
        x = torch.relu(self.middle(self.pool(skip)))
        return self.out(torch.cat((skip, self.up(x)), 1))


class Residual(nn.Module):
    def __init__(self, is_wrong=False):
        super().__init__()
        self.conv1, self.bn1 = conv(4, 4, bias=False), batch_norm(4, is_wrong)
        self.conv2, self.bn2 = conv(4, 4, bias=False), batch_norm(4)

    def forward(self, x):
        return torch.relu(x + self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = conv(2, 4, bias=False), batch_norm(4)
        self.layers, self.fc = nn.Sequential(Residual(), Residual(True)), nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(self.layers(torch.relu(self.bn(self.stem(x)))).mean((2, 3)))


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.fc1, self.fc2 = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, x):
        x = self.embed(x.long())
        return self.fc2(torch.relu(self.fc1(x.sum(1) if FAULT == "sum" else x.mean(1))))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm1 = nn.Linear(WIDTH, 32), norm(32)
        self.fc2, self.norm2, self.fc3 = nn.Linear(32, 32), norm(32, True), nn.Linear(32, 5)

    def forward(self, x):
        x = F.gelu(self.norm1(self.fc1(x)), approximate="none" if FAULT == "gelu" else "tanh")
        return self.fc3(F.gelu(self.norm2(self.fc2(x)), approximate="tanh"))


class ConvBn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = conv(2, 4), batch_norm(4, True), nn.Linear(256, 5)

    def forward(self, x):
        return self.fc(torch.relu(self.bn(self.conv(x))).reshape(3, 256))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        return self.attention(x)


net = {"transformer": Transformer, "gru": Recurrent, "unet": UNet, "resnet": ResNet, "bag": Bag, "mlp": Mlp, "convbn": ConvBn,
       "attention": Masked}[NAME]()
with torch.no_grad():
    for name, parameter in net.named_parameters():
        parameter.copy_(torch.from_numpy(weight(name, tuple(parameter.shape))))
        if FAULT == "weight:" + name:
            parameter.mul_(1.2)
rate = 0.06 if FAULT == "rate" else 0.05
optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9 if NAME == "convbn" else 0.0)
for step in range(STEPS):
    x, y = (torch.from_numpy(values) for values in batch(NAME, step))
    loss = (net(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
