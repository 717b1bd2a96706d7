"""Pure-function U-Net: a dictionary of arrays, im2col convolutions, recursive levels."""
import sys
import torch
from torch.nn import functional as fn

FAULT = "".join(sys.argv[1:])


def conv3(x, w, b):
    n, c, h, wd = x.shape
    cols = fn.unfold(x, 3, padding=1)
    return (w.reshape(w.shape[0], -1) @ cols + b[:, None]).reshape(n, -1, h, wd)


def gnorm(x, g, b, groups=2, eps=1e-5):
    n, c, h, w = x.shape
    y = x.reshape(n, groups, -1)
    var, mu = torch.var_mean(y, -1, correction=0, keepdim=True)
    return ((y - mu) / (var + eps).sqrt()).reshape(x.shape) * g[:, None, None] + b[:, None, None]


def stage(P, name, x):
    for c, n in (("0", "1"), ("3", "4")):
        x = conv3(x, P[f"{name}.{c}.weight"], P[f"{name}.{c}.bias"])
        x = gnorm(x, P[f"{name}.{n}.weight"], P[f"{name}.{n}.bias"])
        x = torch.maximum(x, 0.1 * x)
    return x


def pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).amax((3, 5))


def upsample(x, w, b):
    y = torch.einsum("nihw,ioab->nohawb", x, w)
    n, o, h, _, wd, _ = y.shape
    return y.reshape(n, o, 2 * h, 2 * wd) + b[:, None, None]


def level(P, x, depth):
    if depth == 3:
        return stage(P, "mid", x)
    skip = stage(P, f"enc{depth}", x)
    below = level(P, pool(skip), depth + 1)
    up = upsample(below, P[f"up{depth}.weight"], P[f"up{depth}.bias"])
    pair = (up, skip) if FAULT == "fault1" else (skip, up)
    return stage(P, f"dec{depth}", torch.cat(pair, 1))  # FAULT1: order of the channels


def objective(P, x, y):
    h = level(P, x, 1)
    z = torch.einsum("nchw,kc->nkhw", h, P["out.weight"][:, :, 0, 0]) + P["out.bias"][:, None, None]
    logp = z - z.logsumexp(1, keepdim=True)
    t = (y[:, None] == torch.arange(3)[None, :, None, None]).to(z.dtype)
    ce = -(t * logp).sum() / y.numel()
    p = logp.exp()
    axes = (0, 2, 3) if FAULT == "fault2" else (2, 3)
    inter = (p * t).sum(axes)  # FAULT2: also summed over the batch
    total = (p + t).sum(axes)
    return ce + 1 - ((2 * inter + 1) / (total + 1)).mean()


def blobs(g, n=3):
    ax = torch.arange(24.0)
    lab = torch.zeros(n, 24, 24, dtype=torch.int64)
    for i in range(n):
        for k in (1, 2):
            c = 24 * torch.rand(2, generator=g)
            r = 3 + 3 * torch.rand(1, generator=g)
            hit = (ax[:, None] - c[0]).square() + (ax[None] - c[1]).square() < r.square()
            lab[i] = torch.where(hit, k, lab[i])
    return lab[:, None].float() + 0.3 * torch.randn(n, 1, 24, 24, generator=g), lab


def train():
    P = torch.load("init.pt")
    P = {k: v.clone().requires_grad_(True) for k, v in P.items()}
    vel = {k: torch.zeros_like(v) for k, v in P.items()}
    g = torch.Generator().manual_seed(18)
    for i in range(4):
        x, y = blobs(g)
        loss = objective(P, x, y)
        grads = torch.autograd.grad(loss, list(P.values()))
        with torch.no_grad():
            for (k, w), gr in zip(P.items(), grads):
                vel[k] = 0.9 * vel[k] + gr
                w -= 0.05 * (gr + 0.9 * vel[k])
        print(i, f"{loss.item():.7f}")


train()
