# Same mixer; training loop without torch.optim.
import sys
import torch
from torch import nn

FAULT = "".join(sys.argv[1:])


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.token_mix = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.norm2 = nn.LayerNorm(dim)
        self.channel_mix = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.token_mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, patch=4, dim=24, classes=5):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, patch, stride=patch)
        self.blocks = nn.ModuleList([MixerBlock(16, dim) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x).mean(1))


class Trainer:
    lr, rho, eps, mom, wd = 2e-3, 0.9, 1e-3, 0.8, 0.01

    def __init__(self, net):
        self.net = net
        self.sq = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
        self.buf = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
        self.avg = None
        self.t = 0

    @torch.no_grad()
    def update(self):
        named = dict(self.net.named_parameters())
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in named.values()))
        scale = 1.0 / (norm + 1e-6) if norm > 1 else 1.0
        t = self.t if FAULT == "fault1" else self.t + 1  # FAULT1: warm-up is a step late
        rate = self.lr * min(1.0, t / 4)
        for n, p in named.items():
            g = p.grad * scale
            if p.dim() > 1:
                g = g + self.wd * p
            self.sq[n] = self.rho * self.sq[n] + (1 - self.rho) * g * g
            if FAULT == "fault2":
                d = (self.sq[n] + self.eps).sqrt()  # FAULT2: epsilon under the root
            else:
                d = self.sq[n].sqrt() + self.eps
            self.buf[n] = self.mom * self.buf[n] + g / d
            p -= rate * self.buf[n]
        self.t += 1
        if self.avg is None:
            self.avg = {n: p.clone() for n, p in named.items()}
        else:
            self.avg = {n: 0.9 * self.avg[n] + 0.1 * p for n, p in named.items()}


torch.manual_seed(21)
net = Mixer()
gen = torch.Generator().manual_seed(22)
proto = torch.randn(5, 1, 16, 16, generator=gen)
trainer = Trainer(net)
ce = nn.CrossEntropyLoss(label_smoothing=0.1)
for i in range(5):
    y = torch.randint(0, 5, (8,), generator=gen)
    x = proto[y] + 0.5 * torch.randn(8, 1, 16, 16, generator=gen)
    for p in net.parameters():
        p.grad = None
    loss = ce(net(x), y)
    loss.backward()
    trainer.update()
    print(i, "%.7f" % loss.item())
with torch.no_grad():
    out = torch.func.functional_call(net, trainer.avg, (x,))
    print("averaged %.7f" % nn.functional.cross_entropy(out, y).item())
