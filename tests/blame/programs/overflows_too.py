"""More pairs about infinities, and about optimizers: `overflows_too.py PAIR` is golden, `overflows_too.py PAIR actual` the other run."""

import sys

import torch
from torch import nn

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)


def norm_at_zero():  # the gradient of a norm of zeros is 0/0 where it is written by hand
    x = torch.zeros(3, 4, requires_grad=True)
    y = x.pow(2).sum(-1).sqrt() if actual else x.norm(dim=-1)
    y.sum().backward()
    print(x.grad.sum())


def variance_in_half():  # the sum of squares is above 65504 before it is divided
    x = (torch.randn(4, 64) * 80).half()
    sum_of_squares = (x * x).sum(-1) if actual else x.float().pow(2).sum(-1)
    print((x.float() / (sum_of_squares.float() / 64).sqrt()[:, None]).mean())


def logsumexp_by_hand():
    x = nn.Linear(6, 5)(torch.randn(4, 6)) * 400
    print((x.exp().sum(-1).log() if actual else x.logsumexp(-1)).mean())


def entropy_of_certainty():  # p log p with p = 0
    p = (torch.randn(4, 6) * 300).softmax(-1)
    h = -(p * p.log()) if actual else -torch.special.xlogy(p, p)
    print(h.sum())


def padded_scores():  # the smallest number or -inf for what is padded, no row is empty
    x = torch.randn(4, 6) @ torch.randn(6, 6)
    pad = torch.arange(6) >= torch.tensor([[6], [4], [2], [1]])
    print((x.masked_fill(pad, float("-inf") if actual else torch.finfo(x.dtype).min).softmax(-1) * torch.arange(6.0)).sum())


def train(opt, net):
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 6)).square().mean().backward()
        opt.step()


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def adagrad_reversed():
    net = mlp()
    parameters = list(net.parameters())
    train(torch.optim.Adagrad(parameters[::-1] if actual else parameters, lr=0.05), net)


def nadam_in_groups():
    net = mlp()
    groups = [{"params": [*net[i].parameters()]} for i in (4, 0, 2)] if actual else net.parameters()
    train(torch.optim.NAdam(groups, lr=0.01), net)


def decay_of_biases():
    net = mlp()
    weights, biases = [p for p in net.parameters() if p.dim() > 1], [p for p in net.parameters() if p.dim() == 1]
    groups = [{"params": weights, "weight_decay": 0.1}, {"params": biases, "weight_decay": 0.1 if actual else 0.0}]
    train(torch.optim.AdamW(groups[::-1] if actual else groups, lr=0.02), net)


globals()[sys.argv[1]]()
