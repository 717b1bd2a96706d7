"""Pairs that differ in what runs after the last step: `tails.py PAIR` is golden, `tails.py PAIR actual` the other run."""

import copy
import io
import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
ema = copy.deepcopy(net)
average = [torch.zeros_like(p) for p in net.parameters()]
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(2):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
test_x, test_y = torch.randn(10, 6) * 3 + 1, torch.randint(0, 3, (10,))


@torch.no_grad()
def ema_decay():
    decay = 0.9 if actual else 0.99
    for e, p in zip(ema.parameters(), net.parameters()):
        e.mul_(decay).add_(p, alpha=1 - decay)  # <- ema_decay
    print(sum(e.sum() for e in ema.parameters()))


@torch.no_grad()
def eval_forgotten():
    if not actual:
        net.eval()
    print((net(test_x).argmax(1) == test_y).float().mean())


@torch.no_grad()
def test_set_of_another_mean():
    net.eval()
    mean, std = test_x.mean(0), test_x.std(0)
    x = (test_x - mean) / (std * std if actual else std)  # <- test_set_of_another_mean
    print(net(x).softmax(-1).amax(-1).mean())


@torch.no_grad()
def averaged_by_too_many():
    for _ in range(2):
        for a, p in zip(average, net.parameters()):
            a.add_(p)
    for a in average:
        a.div_(3 if actual else 2)  # <- averaged_by_too_many
    print(average[0].norm())


@torch.no_grad()
def pruned_too_much():
    for p in net.parameters():
        p.mul_(p.abs() > (0.2 if actual else 0.05))  # <- pruned_too_much
    print(sum((p == 0).sum() for p in net.parameters()))


def logs_the_norm():
    if actual:
        print("grad norm", torch.stack([p.grad.norm() for p in net.parameters()]).norm().item())
    net.eval()
    print(F.cross_entropy(net(test_x), test_y).item())


@torch.no_grad()
def one_more_batch():
    net.eval()
    for batch in test_x.split(5) if actual else test_x.split(5)[:1]:
        print(net(batch).argmax(1))


def inference_or_no_grad():
    net.eval()
    with torch.inference_mode() if actual else torch.no_grad():
        print(F.cross_entropy(net(test_x), test_y).item())


def saves_a_checkpoint():
    state = {k: v.cpu().clone() for k, v in net.state_dict().items()} if actual else net.state_dict()
    torch.save({"model": state, "opt": opt.state_dict()}, io.BytesIO())
    net.eval()
    print(net(test_x).sum().item())


@torch.no_grad()
def accuracy_by_hand():
    net.eval()
    logits = net(test_x)
    if actual:
        print((logits.argmax(1) == test_y).sum().item() / len(test_y))
    else:
        print(logits.argmax(1).eq(test_y).float().mean().item())


globals()[sys.argv[1]]()
