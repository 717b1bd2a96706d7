"""Stable-diffusion-like training step and two DDIM steps; diffusers scheduler vs. my rewrite of it."""
import argparse, math
import torch
import torch.nn as nn
import torch.nn.functional as F


def timestep_embedding(t, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(half, dtype=torch.float32) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, ch, emb):
        super().__init__()
        self.in_layers = nn.Sequential(nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.emb_layers = nn.Linear(emb, 2 * ch)
        self.out_norm = nn.GroupNorm(4, ch)
        self.out_conv = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x, emb):
        h = self.in_layers(x)
        scale, shift = self.emb_layers(F.silu(emb))[:, :, None, None].chunk(2, 1)
        h = self.out_norm(h) * (1 + scale) + shift
        return x + self.out_conv(F.silu(h))


class UNet(nn.Module):
    def __init__(self, ch=16, emb=32):
        super().__init__()
        self.ch = ch
        self.time_embed = nn.Sequential(nn.Linear(ch, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.conv_in = nn.Conv2d(4, ch, 3, padding=1)
        self.down = ResBlock(ch, emb)
        self.pool = nn.Conv2d(ch, ch, 3, stride=2, padding=1)
        self.middle = ResBlock(ch, emb)
        self.up = ResBlock(ch, emb)
        self.merge = nn.Conv2d(2 * ch, ch, 1)
        self.conv_out = nn.Conv2d(ch, 4, 3, padding=1)

    def forward(self, x, t):
        emb = self.time_embed(timestep_embedding(t, self.ch))
        skip = self.down(self.conv_in(x), emb)
        h = self.middle(self.pool(skip), emb)
        h = F.interpolate(h, scale_factor=2, mode="nearest")
        h = self.up(self.merge(torch.cat([h, skip], 1)), emb)
        return self.conv_out(h)


class Scheduler:
    def __init__(self, steps=50, beta_start=0.00085, beta_end=0.012, scaled=True):
        if scaled:
            betas = torch.linspace(beta_start ** 0.5, beta_end ** 0.5, steps, dtype=torch.float32) ** 2
        else:
            betas = torch.linspace(beta_start, beta_end, steps, dtype=torch.float32)
        self.alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)

    def add_noise(self, x0, noise, t):
        a = self.alphas_cumprod[t].view(-1, 1, 1, 1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def step(self, eps, t, prev_t, x):
        a_t = self.alphas_cumprod[t]
        a_prev = self.alphas_cumprod[prev_t] if prev_t >= 0 else torch.tensor(1.0)
        x0 = (x - (1 - a_t).sqrt() * eps) / a_t.sqrt()
        return a_prev.sqrt() * x0 + (1 - a_prev).sqrt() * eps


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("impl", nargs="?", default="golden")
    args = ap.parse_args()
    torch.manual_seed(0)
    unet = UNet()
    scheduler = Scheduler(scaled=args.impl != "actual")
    latents = torch.randn(2, 4, 8, 8)
    noise = torch.randn_like(latents)
    t = torch.randint(0, 50, (2,))
    opt = torch.optim.AdamW(unet.parameters(), lr=1e-3)
    loss = F.mse_loss(unet(scheduler.add_noise(latents, noise, t), t), noise)
    loss.backward()
    opt.step()
    x = torch.randn(1, 4, 8, 8)
    with torch.no_grad():
        for t, prev in ((40, 20), (20, -1)):
            x = scheduler.step(unet(x, torch.tensor([t])), t, prev, x)
    print("RESULT", loss.item(), x.double().abs().sum().item())


main()
