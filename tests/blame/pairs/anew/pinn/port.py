# Burgers PINN without autograd in the residual: the jet (u, u_x, u_t, u_xx) goes through the layers.
import sys
import numpy as np
import torch

FAULT = "".join(sys.argv[1:])
nu = 0.05


def load():
    sd = torch.load("init.pt")
    names = sorted({k.rsplit(".", 1)[0] for k in sd}, key=lambda s: int(s.split(".")[1]))
    return [(sd[n + ".weight"].T.clone().requires_grad_(), sd[n + ".bias"].clone().requires_grad_()) for n in names]


def value(params, pts):
    for W, b in params[:-1]:
        pts = torch.tanh(pts @ W + b)
    W, b = params[-1]
    return pts @ W + b


def jet(params, pts):
    W, b = params[0]
    z = pts @ W + b
    zx = W[0].expand_as(z)
    zt = W[1].expand_as(z)
    zxx = torch.zeros_like(z)
    for W, b in params[1:]:
        s = torch.tanh(z)
        d1 = 1 - s * s
        d2 = -2 * s * d1
        if FAULT == "fault1":
            axx = d1 * zxx + d2 * zx  # FAULT1: zx is not squared
        else:
            axx = d1 * zxx + d2 * zx * zx
        ax, at = d1 * zx, d1 * zt
        z, zx, zt, zxx = s @ W + b, ax @ W, at @ W, axx @ W
    return z, zx, zt, zxx


def objective(params, inner, start, border_t):
    u, ux, ut, uxx = jet(params, inner)
    f = ut + u * ux - nu * uxx
    pde = (f * f).sum() / len(f)
    u0 = value(params, torch.cat([start, start * 0], 1))
    ic = ((u0 + torch.sin(np.pi * start)) ** 2).mean()
    side = torch.cat([-torch.ones_like(border_t), torch.ones_like(border_t)])
    ub = value(params, torch.cat([side, border_t.repeat(2, 1)], 1))
    bc = ub.square().sum() / len(border_t)
    if FAULT == "fault2":
        bc = ub.square().mean()  # FAULT2: the mean of both sides instead of their sum
    return pde + 10 * ic + bc


P = load()
flat = [t for pair in P for t in pair]
m1 = [torch.zeros_like(t) for t in flat]
m2 = [torch.zeros_like(t) for t in flat]
rng = torch.Generator().manual_seed(5)
for k in range(1, 6):
    inner = torch.cat([2 * torch.rand(64, 1, generator=rng) - 1, torch.rand(64, 1, generator=rng)], 1)
    start = 2 * torch.rand(24, 1, generator=rng) - 1
    bt = torch.rand(16, 1, generator=rng)
    L = objective(P, inner, start, bt)
    G = torch.autograd.grad(L, flat)
    with torch.no_grad():
        for i, (p, g) in enumerate(zip(flat, G)):
            m1[i] = 0.9 * m1[i] + 0.1 * g
            m2[i] = 0.999 * m2[i] + 0.001 * g * g
            p -= 5e-3 * (m1[i] / (1 - 0.9 ** k)) / (torch.sqrt(m2[i] / (1 - 0.999 ** k)) + 1e-8)
    print(k - 1, "%.7f" % L.item())
