"""Pairs that give parameters to an optimizer in another way: `optimizers.py PAIR` is golden, `optimizers.py PAIR actual` the other run."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.fc1, self.fc2 = nn.Embedding(12, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.ln, self.head = nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, tokens):
        x = self.emb(tokens)
        x = x + torch.tanh(self.fc1(x)) + torch.tanh(self.fc2(x))
        return self.head(self.ln(x))


net = Net()
named = dict(net.named_parameters())


def train(opt):
    for it in range(2):
        tokens = torch.randint(0, 12, (6,))
        loss = F.cross_entropy(net(tokens), tokens % 4)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(it, loss.item())


def decayed(names, decay=0.1):
    return {"params": [named[n] for n in names], "weight_decay": decay}


def is_matrix(name):
    return named[name].dim() >= 2


def groups_reversed():  # by name in a set, as in minGPT, or by dimension, as in nanoGPT
    decay = [n for n in named if is_matrix(n)]
    rest = [n for n in named if not is_matrix(n)]
    groups = [decayed(decay), decayed(rest, 0.0)]
    if actual:
        groups = [decayed(sorted(rest), 0.0), decayed(sorted(decay))]
    train(torch.optim.AdamW(groups, lr=1e-2))


def group_per_parameter():
    groups = [{"params": [p]} for p in net.parameters()] if actual else net.parameters()
    train(torch.optim.SGD(groups, lr=0.1, momentum=0.9))


def foreach_reversed():
    params = list(net.parameters())
    train(torch.optim.AdamW(params[::-1] if actual else params, lr=1e-2, foreach=True))


def three_groups_for_two():
    body = [n for n in named if "head" not in n]
    groups = [decayed(body[:3]), decayed(body[3:]), decayed(["head.weight", "head.bias"])]
    if not actual:
        groups = [decayed(["head.bias", "head.weight"]), decayed(body)]
    train(torch.optim.RMSprop(groups, lr=1e-3, alpha=0.9))


def fused_split():  # torch 2
    names = list(named)
    groups = [decayed(names)]
    if actual:
        groups = [decayed(names[5:]), decayed(names[:5])]
    train(torch.optim.AdamW(groups, lr=1e-2, fused=True))


def norm_decayed():  # the name of the layer changed, and so its weight is no longer excluded
    skip = ("bias", "layer_norm.weight") if actual else ("bias", "ln.weight")
    nodecay = [n for n in named if n.endswith(skip)]
    groups = [decayed([n for n in named if n not in nodecay], 1.0), decayed(nodecay, 0.0)]
    if actual:
        groups.reverse()
    train(torch.optim.AdamW(groups, lr=1e-2))


def rate_of_the_head():
    head = {"params": list(net.head.parameters()), "lr": 0.1 if actual else 0.01}
    body = {"params": [p for n, p in named.items() if "head" not in n]}
    train(torch.optim.SGD([head, body] if actual else [body, head], lr=0.01))


def nesterov():
    params = sorted(named, reverse=actual)
    train(torch.optim.SGD([named[n] for n in params], lr=0.1, momentum=0.9, nesterov=actual))


def layer_forgotten():  # fc2 gets gradients, and no optimizer
    names = [n for n in named if not (actual and n.startswith("fc2"))]
    train(torch.optim.Adam([named[n] for n in names], lr=1e-2))


def betas_of_a_group():
    body, head = [n for n in named if "head" not in n], ["head.weight", "head.bias"]
    groups = [decayed(body), {**decayed(head), "betas": (0.5 if actual else 0.9, 0.999)}]
    train(torch.optim.AdamW(groups[::-1] if actual else groups, lr=1e-2, foreach=True))


globals()[sys.argv[1]]()
