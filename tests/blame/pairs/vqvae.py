"""VQ-VAE on small sprites. `actual` has the quantizer after clean-up."""
import sys
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class VQConfig:
    n_codes: int = 16
    dim: int = 8
    beta: float = 0.25
    lr: float = 2e-3
    steps: int = 3
    clean: bool = False


class VectorQuantizer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.codebook = nn.Embedding(cfg.n_codes, cfg.dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta, self.clean = cfg.beta, cfg.clean

    def lookup(self, flat):
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codebook.weight.t() + self.codebook.weight.pow(2).sum(1)
        return d.argmin(1)

    def forward(self, z_e):
        b, c, h, w = z_e.shape
        flat = z_e.permute(0, 2, 3, 1).reshape(-1, c)
        idx = self.lookup(flat)
        z_q = self.codebook(idx)
        if self.clean:
            z_q = flat + (z_q - flat).detach()
            loss = F.mse_loss(z_q, flat.detach()) + self.beta * F.mse_loss(flat, z_q.detach())
        else:
            loss = F.mse_loss(z_q, flat.detach()) + self.beta * F.mse_loss(flat, z_q.detach())
            z_q = flat + (z_q - flat).detach()
        return z_q.view(b, h, w, c).permute(0, 3, 1, 2), loss


class VQVAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, cfg.dim, 3, 1, 1))
        self.vq = VectorQuantizer(cfg)
        self.dec = nn.Sequential(nn.Conv2d(cfg.dim, 16, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x):
        q, vq_loss = self.vq(self.enc(x))
        return self.dec(q), vq_loss


def fit(cfg):
    torch.manual_seed(5)
    net = VQVAE(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    sprites = torch.rand(4, 1, 8, 8)
    for step in range(cfg.steps):
        recon, vq_loss = net(sprites)
        loss = F.mse_loss(recon, sprites) + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item(), vq_loss.item())
    print("RESULT", loss.item(), net.vq.codebook.weight.detach().double().abs().sum().item())


fit(VQConfig(clean="actual" in sys.argv))
