"""A small mixer classifier, RMSprop with momentum, linear warm-up, clipping, averaged weights."""
import torch
import torch.nn as nn


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


def main():
    torch.manual_seed(21)
    model = Mixer()
    g = torch.Generator().manual_seed(22)
    proto = torch.randn(5, 1, 16, 16, generator=g)
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.RMSprop([{"params": decay, "weight_decay": 0.01}, {"params": rest}],
                              lr=2e-3, alpha=0.9, eps=1e-3, momentum=0.8)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 4))
    ema = torch.optim.swa_utils.AveragedModel(model, avg_fn=lambda a, p, n: 0.9 * a + 0.1 * p)
    for step in range(5):
        y = torch.randint(0, 5, (8,), generator=g)
        x = proto[y] + 0.5 * torch.randn(8, 1, 16, 16, generator=g)
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        ema.update_parameters(model)
        print(f"step {step} loss {loss.item():.7f}")
    with torch.no_grad():
        print(f"averaged {nn.functional.cross_entropy(ema(x), y).item():.7f}")


main()
