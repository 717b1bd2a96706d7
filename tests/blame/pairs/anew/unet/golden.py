"""U-Net segmentation of synthetic cells; cross-entropy + soft Dice."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.LeakyReLU(0.1, inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.LeakyReLU(0.1, inplace=True))


class UNet(nn.Module):
    def __init__(self, base=8, classes=3):
        super().__init__()
        self.enc1 = double_conv(1, base)
        self.enc2 = double_conv(base, 2 * base)
        self.mid = double_conv(2 * base, 4 * base)
        self.up2 = nn.ConvTranspose2d(4 * base, 2 * base, 2, stride=2)
        self.dec2 = double_conv(4 * base, 2 * base)
        self.up1 = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.dec1 = double_conv(2 * base, base)
        self.out = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        m = self.mid(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([e2, self.up2(m)], dim=1))
        d1 = self.dec1(torch.cat([e1, self.up1(d2)], dim=1))
        return self.out(d1)


class DiceLoss(nn.Module):
    def forward(self, logits, target):
        p = F.softmax(logits, dim=1)
        t = F.one_hot(target, p.shape[1]).permute(0, 3, 1, 2).float()
        inter = (p * t).sum(dim=(2, 3))
        union = p.sum(dim=(2, 3)) + t.sum(dim=(2, 3))
        return 1 - ((2 * inter + 1) / (union + 1)).mean()


def cells(g, n=3):
    yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    mask = torch.zeros(n, 24, 24, dtype=torch.long)
    for i in range(n):
        for k in range(2):
            c = 24 * torch.rand(2, generator=g)
            r = 3 + 3 * torch.rand(1, generator=g)
            mask[i][(yy - c[0]) ** 2 + (xx - c[1]) ** 2 < r ** 2] = k + 1
    return mask.float().unsqueeze(1) + 0.3 * torch.randn(n, 1, 24, 24, generator=g), mask


if __name__ == "__main__":
    torch.manual_seed(17)
    net = UNet()
    path = "init.pt"
    if not os.path.exists(path):
        torch.save(net.state_dict(), path)
    net.load_state_dict(torch.load(path))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    dice = DiceLoss()
    g = torch.Generator().manual_seed(18)
    for step in range(4):
        x, y = cells(g)
        logits = net(x)
        loss = F.cross_entropy(logits, y) + dice(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.7f}")
