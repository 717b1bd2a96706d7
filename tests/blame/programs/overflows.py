"""Pairs about infinities: `overflows.py PAIR` is golden, `overflows.py PAIR actual` the other run."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)
inf = float("inf")


def softmax_by_hand():  # without the maximum
    net, x = nn.Linear(6, 5), torch.randn(4, 6)
    logits = net(x) * 300
    if not actual:
        logits = logits - logits.amax(-1, keepdim=True)
    e = torch.exp(logits)
    print((e / e.sum(-1, keepdim=True)).sum(0))


def scale_of_the_gradients():
    net, x = nn.Linear(6, 5), torch.randn(4, 6)
    scale = 2.0 ** (24 if actual else 8)
    (net(x).pow(2).sum() * scale).backward()
    half = [p.grad.half() for p in net.parameters()]
    with torch.no_grad():
        for p, g in zip(net.parameters(), half):
            p -= 0.01 * (g.float() / scale)
    print(net.weight.sum())


def squares_in_half():  # RMSNorm that squares before it casts to float
    x = (torch.randn(3, 8) * 400).half()
    if actual:
        square = x * x
        ms = square.float().mean(-1, keepdim=True)
    else:
        square = x.float() * x.float()
        ms = square.mean(-1, keepdim=True)
    print((x.float() * torch.rsqrt(ms + 1e-6)).sum(-1))


def attention_in_half():  # torch 2: scaled after the product rather than before
    q, k, v = ((torch.randn(2, 4, 16) * 100).half() for _ in range(3))
    if actual:
        att = (q @ k.transpose(1, 2)) * 0.25
    else:
        att = (q * 0.25 / 16) @ k.transpose(1, 2) * 16
    print((att.float().softmax(-1) @ v.float()).mean())


def row_all_masked():  # the second sentence is empty
    q = torch.randn(2, 4, 6)
    lengths = torch.tensor([4, 0])
    pad = torch.arange(4)[None] >= lengths[:, None]
    scores = q @ q.transpose(1, 2)
    scores = scores.masked_fill(pad[:, None], -inf if actual else -1e9)
    att = F.softmax(scores, dim=-1)
    print((att @ q).mean())


def causal_mask():  # -inf or a large negative number, no row is empty
    q = torch.randn(2, 5, 8)
    tril = torch.tril(torch.ones(5, 5))
    scores = (q @ q.transpose(1, 2)) / 8 ** 0.5
    scores = scores.masked_fill(tril == 0, -inf if actual else -1e9)
    print((F.softmax(scores, dim=-1) @ q).mean())


def best_so_far():  # early stopping begins with an infinite loss; the mean is taken in two halves
    net, best = nn.Linear(6, 1), torch.tensor(inf)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(64, 6)
        error = (net(x) - x.sum(1, keepdim=True)).pow(2)
        loss = (error[:32].mean() + error[32:].mean()) / 2 if actual else error.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        best = torch.minimum(best, loss.detach())
    print(best)


def bfloat16_run():
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    x = torch.randn(8, 16)
    if actual:
        net, x = net.bfloat16(), x.bfloat16()
    with torch.no_grad():
        print(net(x).float().mean())


def skipped_step():  # both scalers meet an infinite gradient, halve the scale and go on
    net = nn.Linear(6, 2)
    opt, scale = torch.optim.SGD(net.parameters(), lr=0.1), torch.tensor(2.0 ** 20)
    for _ in range(3):
        x = torch.randn(32, 6)
        opt.zero_grad()
        out = net(x)
        loss = out.pow(2).mean() if not actual else (out * out).sum() / out.numel()
        (loss * scale).backward()
        grads = [p.grad.half().float() for p in net.parameters()]
        if all(torch.isfinite(g).all() for g in grads):
            for p, g in zip(net.parameters(), grads):
                p.grad = g / scale
            opt.step()
        else:
            scale = scale / 64
    print(scale, net.weight.sum())


def log_of_zero():  # binary cross-entropy clamps the logarithm of 0, by hand or in the library
    x = torch.randn(6, 4) * 200
    p, y = torch.sigmoid(x), (x > 0).float()
    if actual:
        loss = -(y * torch.log(p).clamp(min=-100) + (1 - y) * torch.log(1 - p).clamp(min=-100)).mean()
    else:
        loss = F.binary_cross_entropy(p, y)
    print(loss)


globals()[sys.argv[1]]()
