# Functional re-implementation: parameters in a dict, everything by hand.
import sys
from dataclasses import dataclass

import numpy as np
import torch

FAULT = "".join(sys.argv[1:])


@dataclass
class Config:
    ctx: int = 24
    vocab: int = 40
    depth: int = 2
    heads: int = 4
    width: int = 48
    batch: int = 6
    lr: float = 2e-3
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    wd: float = 0.1
    clip: float = 1.0


def import_weights(cfg):
    sd = torch.load("init.pt")
    p = {"tok": sd["lm_head.weight"], "pos": sd["transformer.wpe.weight"],
         "norm.g": sd["transformer.ln_f.weight"], "norm.b": sd["transformer.ln_f.bias"]}
    for i in range(cfg.depth):
        src, dst = f"transformer.h.{i}.", f"layer{i}."
        w, b = sd[src + "attn.c_attn.weight"], sd[src + "attn.c_attn.bias"]
        hd = cfg.width // cfg.heads
        for n, ww, bb in zip("qkv", w.chunk(3), b.chunk(3)):
            p[dst + f"w{n}"] = ww.reshape(cfg.heads, hd, cfg.width).clone()
            p[dst + f"b{n}"] = bb.reshape(cfg.heads, hd).clone()
        p[dst + "wo"] = sd[src + "attn.c_proj.weight"].reshape(cfg.width, cfg.heads, hd).clone()
        p[dst + "bo"] = sd[src + "attn.c_proj.bias"]
        p[dst + "n1.g"], p[dst + "n1.b"] = sd[src + "ln_1.weight"], sd[src + "ln_1.bias"]
        p[dst + "n2.g"], p[dst + "n2.b"] = sd[src + "ln_2.weight"], sd[src + "ln_2.bias"]
        p[dst + "up"], p[dst + "up.b"] = sd[src + "mlp.c_fc.weight"].t().contiguous(), sd[src + "mlp.c_fc.bias"]
        p[dst + "down"], p[dst + "down.b"] = sd[src + "mlp.c_proj.weight"].t().contiguous(), sd[src + "mlp.c_proj.bias"]
    return {k: v.clone().requires_grad_() for k, v in p.items()}


def norm(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdim=True)
    centred = x - mu
    var = centred.pow(2).mean(-1, keepdim=True)
    return centred * torch.rsqrt(var + eps) * g + b


def attention(p, l, x, causal, cfg):
    hd = cfg.width // cfg.heads
    q = torch.einsum("btc,hdc->bhtd", x, p[l + "wq"]) + p[l + "bq"][:, None]
    k = torch.einsum("btc,hdc->bhtd", x, p[l + "wk"]) + p[l + "bk"][:, None]
    v = torch.einsum("btc,hdc->bhtd", x, p[l + "wv"]) + p[l + "bv"][:, None]
    q = q * ((cfg.width if FAULT == "fault1" else hd) ** -0.5)  # FAULT1
    s = torch.einsum("bhqd,bhkd->bhqk", q, k)
    s = torch.where(causal, s, torch.full_like(s, -1e30))
    e = torch.exp(s - s.amax(-1, keepdim=True))
    a = e / e.sum(-1, keepdim=True)
    o = torch.einsum("bhqk,bhkd->bqhd", a, v)
    return torch.einsum("bqhd,chd->bqc", o, p[l + "wo"]) + p[l + "bo"]


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))


def objective(p, tokens, labels, cfg):
    n = tokens.shape[1]
    causal = torch.arange(n)[:, None] >= torch.arange(n)[None, :]
    h = p["tok"][tokens] + p["pos"][:n]
    for i in range(cfg.depth):
        l = f"layer{i}."
        h = h + attention(p, l, norm(h, p[l + "n1.g"], p[l + "n1.b"]), causal, cfg)
        m = norm(h, p[l + "n2.g"], p[l + "n2.b"])
        h = h + gelu(m @ p[l + "up"] + p[l + "up.b"]) @ p[l + "down"] + p[l + "down.b"]
    h = norm(h, p["norm.g"], p["norm.b"])
    logp = torch.log_softmax(torch.einsum("btc,vc->btv", h, p["tok"]), -1)
    return -logp.gather(-1, labels[..., None]).mean()


MATRICES = ("tok", "pos", "wq", "wk", "wv", "wo", "up", "down")


def adamw(p, g, m, v, t, cfg):
    for k in p:
        m[k] = cfg.beta1 * m[k] + (1 - cfg.beta1) * g[k]
        v[k] = cfg.beta2 * v[k] + (1 - cfg.beta2) * g[k] ** 2
        mh = m[k] / (1 - cfg.beta1 ** t)
        vh = v[k] / (1 - cfg.beta2 ** t)
        decays = k.split(".")[-1] in MATRICES or FAULT == "fault2"  # FAULT2 (decision)
        with torch.no_grad():
            if decays:
                p[k].mul_(1 - cfg.lr * cfg.wd)  # FAULT2 (operator)
            p[k].sub_(cfg.lr * mh / (vh.sqrt() + cfg.eps))


def batches(cfg):
    stream = np.random.default_rng(7).integers(0, cfg.vocab, 4000).astype(np.int64)
    stream[::3] = np.arange(0, 4000, 3) % cfg.vocab
    stream = torch.as_tensor(stream)
    rng = np.random.default_rng(11)
    while True:
        start = torch.as_tensor(rng.integers(0, len(stream) - cfg.ctx - 1, cfg.batch))
        window = stream[start[:, None] + torch.arange(cfg.ctx + 1)]
        yield window[:, :-1], window[:, 1:]


def main():
    cfg = Config()
    p = import_weights(cfg)
    m = {k: torch.zeros_like(v) for k, v in p.items()}
    v = {k: torch.zeros_like(w) for k, w in p.items()}
    source = batches(cfg)
    for t in range(1, 5):
        tokens, labels = next(source)
        loss = objective(p, tokens, labels, cfg)
        grads = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
        total = torch.sqrt(sum(g.square().sum() for g in grads.values()))
        factor = torch.clamp(cfg.clip / (total + 1e-6), max=1.0)
        grads = {k: g * factor for k, g in grads.items()}
        adamw(p, grads, m, v, t, cfg)
        print("it", t - 1, "nll", "%.7f" % float(loss))


main()
