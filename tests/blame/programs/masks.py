"""Masks and initial values: `masks.py PAIR` is golden, `masks.py PAIR actual` the other run, with a fault if PAIR ends in `_fault`."""

import math
import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
least = -math.inf if actual else -1e9
torch.manual_seed(0)


def attention():  # the mask is added; the fault lets each token see the next one
    q, k, v = (torch.randn(2, 4, 6, 8) for _ in range(3))
    mask = torch.full((6, 6), least).triu(2 if fault else 1)
    print(((q @ k.transpose(-1, -2) / math.sqrt(8) + mask).softmax(-1) @ v).sum())


def sampling():  # only the most likely tokens; the fault keeps one more
    logits = nn.Linear(8, 20)(torch.randn(3, 8))
    last = logits.topk(6 if fault else 5).values[:, -1:]
    print(logits.masked_fill(logits < last, least).softmax(-1).cumsum(-1).max())


def likelihood():  # numbers far below zero that are none of a mask; the fault loses a row
    x = torch.randn(40, 8) * 5
    each = -(x ** 2).sum(1) * 2
    print(each[:39 if fault else 40].sum())


def action():  # the best one that is legal; the fault scales the scores
    scores = torch.randn(5, 7) * (1.5 if fault else 1)
    legal = torch.arange(7) % 3 != 0
    print(scores.masked_fill(~legal, least).argmax(-1))


def copied():  # golden keeps its initial values, and actual loads them over others; the fault changes one tensor
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    state = {k: v.clone() for k, v in net.state_dict().items()}
    if actual:
        torch.manual_seed(5)
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
        if fault:
            state["2.weight"] = state["2.weight"] * 1.1
        net.load_state_dict(state)
    print(net(torch.ones(3, 6)).sum())


def logged_fault():  # a line of the log reads the initial values before they are replaced
    if actual:
        torch.manual_seed(3)
    net = nn.Linear(5, 5)
    print(net.weight.norm())
    net.load_state_dict({"weight": torch.eye(5), "bias": torch.zeros(5)})
    print(net(torch.ones(1, 5)))


def scratch():  # a buffer that every step fills; the fault is another seed of one step
    buffer, out = torch.empty(4), []
    for i in range(3):
        buffer.normal_(generator=torch.Generator().manual_seed(10 + i if fault and i == 1 else i))
        out.append(buffer * 2 if i != 2 else buffer.tanh())
        if actual:
            buffer.zero_()
    print(sum(x.sum() for x in out))


(globals().get(name) or globals()[name.removesuffix("_fault")])()
