# Convolution as a matrix product.   python im2col.py golden|actual [sound|order]
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F

class MyConv(nn.Conv2d):
    order = "chw"
    def forward(self, x):
        n, c, h, w = x.shape
        k, p = self.kernel_size[0], self.padding[0]
        if self.order == "chw":
            cols = F.unfold(x, k, padding=p)                                  # (n, c*k*k, h*w)
        else:
            # patches by hand, channels last: the weight should be permuted as well
            xp = F.pad(x, (p, p, p, p))
            cols = xp.unfold(2, k, 1).unfold(3, k, 1)                          # n c h w k k
            cols = cols.permute(0, 4, 5, 1, 2, 3).reshape(n, k * k * c, h * w)
        y = self.weight.view(self.out_channels, -1) @ cols
        return (y + self.bias[:, None]).view(n, -1, h, w)

class ResNetish(nn.Module):
    def __init__(self, conv=nn.Conv2d):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.bn0 = nn.BatchNorm2d(8)
        self.conv1 = conv(8, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.short = nn.Conv2d(8, 16, 1)
        self.fc = nn.Linear(16, 10)
    def forward(self, x):
        x = F.relu(self.bn0(self.stem(x)))
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        x = F.relu(y + self.short(x))
        return self.fc(x.mean((2, 3)))

torch.manual_seed(0)
MyConv.order = "hwc" if sys.argv[2:] == ["order"] else "chw"
net = ResNetish(nn.Conv2d if sys.argv[1] == "golden" else MyConv)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(4, 3, 12, 12), torch.randint(0, 10, (4,))
for _ in range(2):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item())
