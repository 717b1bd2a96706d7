import torch
from torch import nn, optim


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4 * 4 * 8)
        self.bn = nn.BatchNorm2d(8)
        self.up = nn.ConvTranspose2d(8, 1, 4, 2, 1)

    def forward(self, z):
        h = self.fc(z).view(-1, 8, 4, 4)
        return torch.tanh(self.up(torch.relu(self.bn(h))))


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, 2, 1)
        self.c2 = nn.Conv2d(8, 16, 3, 2, 1)
        self.fc = nn.Linear(16 * 2 * 2, 1)

    def forward(self, x):
        x = nn.functional.leaky_relu(self.c1(x), 0.2)
        x = nn.functional.leaky_relu(self.c2(x), 0.2)
        return self.fc(x.flatten(1)).squeeze(1)


class Trainer:
    def __init__(self):
        torch.manual_seed(1)
        self.g, self.d = G(), D()
        self.og = optim.Adam(self.g.parameters(), 2e-3, betas=(0.5, 0.999))
        self.od = optim.Adam(self.d.parameters(), 2e-3, betas=(0.5, 0.999))
        self.crit = nn.BCEWithLogitsLoss()
        self.data = torch.rand(24, 1, 8, 8) * 2 - 1

    def step(self, real):
        n = real.size(0)
        z = torch.randn(n, 8)
        one, zero = torch.ones(n), torch.zeros(n)
        self.og.zero_grad()
        self.od.zero_grad()
        fake = self.g(z)
        ld = self.crit(self.d(real), one) + self.crit(self.d(fake), zero)
        ld.backward(retain_graph=True)
        self.od.step()
        lg = self.crit(self.d(fake), one)
        lg.backward()
        self.og.step()
        return ld.item(), lg.item()

    def run(self):
        for i, real in enumerate(self.data.split(8)):
            ld, lg = self.step(real)
            print(f"{i} D {ld:.6f} G {lg:.6f} w {self.g.fc.weight.abs().sum().item():.5f}")


if __name__ == "__main__":
    Trainer().run()
