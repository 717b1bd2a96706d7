"""Pairs about results that are overwritten or read: `unread.py PAIR` is golden, `unread.py PAIR actual` the other run."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
fixed = torch.Generator().manual_seed(7)


def numbers(*shape):
    return torch.randn(*shape, generator=fixed) * 0.3


def checkpoint(net):
    return {k: numbers(*v.shape) if v.is_floating_point() else v for k, v in net.state_dict().items()}


def train(net, opt=None, classes=3, features=6, x=None):
    opt = opt or torch.optim.SGD(net.parameters(), lr=0.1)
    for it in range(2):
        batch = numbers(8, features) if x is None else x
        loss = F.cross_entropy(net(batch), torch.arange(8) % classes)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(it, loss.item())


def mlp():
    return nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 3))


def resumed():
    torch.manual_seed(1 if actual else 0)
    net = mlp()
    net.load_state_dict(checkpoint(net))
    train(net)


def initialised_again():  # the constructor's random weights differ; every layer is initialised again
    torch.manual_seed(1 if actual else 0)
    net = mlp()
    torch.manual_seed(5)

    def init(m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)

    net.apply(init)
    train(net)


def pretrained_vectors():  # GloVe-like vectors, given or copied
    vectors = numbers(20, 6)
    torch.manual_seed(0)
    if actual:
        emb = nn.Embedding.from_pretrained(vectors, freeze=True)
    else:
        emb = nn.Embedding(20, 6)
        emb.weight.data.copy_(vectors)
        emb.weight.requires_grad = False
    torch.manual_seed(2)
    net = nn.Linear(6, 3)
    train(net, x=emb(torch.arange(16).view(8, 2)).mean(1))


def resumed_with_optimizer():
    torch.manual_seed(1 if actual else 0)
    net = mlp()
    net.load_state_dict(checkpoint(net))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    state = {i: {"step": torch.tensor(3.0), "exp_avg": numbers(*p.shape), "exp_avg_sq": numbers(*p.shape).abs()}
             for i, p in enumerate(net.parameters())}
    opt.load_state_dict({"state": state, "param_groups": opt.state_dict()["param_groups"]})
    train(net, opt)


def preview_noise():  # a GAN draws noise for pictures that it never makes
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))
    other = torch.Generator().manual_seed(2 if actual else 1)
    fixed_noise = torch.randn(16, 4, generator=other)
    assert fixed_noise.shape == (16, 4)
    disc = nn.Linear(6, 1)
    opt = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for _ in range(2):
        loss = F.binary_cross_entropy_with_logits(disc(gen(torch.randn(8, 4))), torch.ones(8, 1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def head_not_loaded():  # strict=False passes over a key that has another name
    torch.manual_seed(1 if actual else 0)
    net = nn.Sequential()
    net.add_module("body", nn.Linear(6, 10))
    net.add_module("act", nn.ReLU())
    net.add_module("head", nn.Linear(10, 3))
    state = checkpoint(net)
    if actual:
        state = {k.replace("head", "fc"): v for k, v in state.items()}
    net.load_state_dict(state, strict=False)
    train(net)


def optimizer_not_resumed():
    torch.manual_seed(1 if actual else 0)
    net = mlp()
    net.load_state_dict(checkpoint(net))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    state = {i: {"momentum_buffer": numbers(*p.shape)} for i, p in enumerate(net.parameters())}
    if not actual:
        opt.load_state_dict({"state": state, "param_groups": opt.state_dict()["param_groups"]})
    train(net, opt)


def initialised_after_loading():
    torch.manual_seed(0)
    net = mlp()
    net.load_state_dict(checkpoint(net))
    if actual:
        nn.init.normal_(net[2].weight, std=0.02)  # <- initialised_after_loading
    train(net)


def untied():  # the output layer shares the embedding's weights
    torch.manual_seed(1 if actual else 0)

    class LM(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.lm_head = nn.Embedding(9, 6), nn.Linear(6, 9, bias=False)
            if not actual:
                self.lm_head.weight = self.wte.weight

        def forward(self, tokens):
            return self.lm_head(self.wte(tokens))

    net = LM()
    net.load_state_dict({"wte.weight": numbers(9, 6)}, strict=False) if actual else net.wte.weight.data.copy_(numbers(9, 6))
    train(net, classes=9, x=torch.arange(8))


def buffers_not_loaded():
    torch.manual_seed(1 if actual else 0)
    net = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)).eval()
    state = {k: v.abs() for k, v in checkpoint(net).items()}
    if actual:
        state = {k: v for k, v in state.items() if "running" not in k}
    net.load_state_dict(state, strict=False)
    train(net)


globals()[sys.argv[1]]()
