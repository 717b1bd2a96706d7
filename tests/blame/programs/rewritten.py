"""A program and what another author made of it, with nothing in common but weights and data: `rewritten.py PAIR` is golden, the
original; `rewritten.py PAIR actual` the port. A pair is a model and, behind its name, what the port does wrong."""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
model, _, wrong = sys.argv[1].partition("_")


def numbers(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# ---- A language model: modules and AdamW, or functions of a dictionary, einsum, and everything else by hand.

words, width, heads, length = 37, 32, 4, 12


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, heads, d // heads).transpose(1, 2) for y in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(torch.tril(torch.ones(t, t)) == 0, float("-inf"))
        return self.proj((F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(width), Attention(), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe, self.lnf = nn.Embedding(words, width), nn.Embedding(length, width), nn.LayerNorm(width)
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(2)), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.lnf(x))


def language():
    torch.manual_seed(0)
    net = Language()
    data = torch.randint(0, words, (4, 6, length + 1), generator=torch.Generator().manual_seed(5))
    if actual:
        return ported_language({name: p.detach().clone().requires_grad_() for name, p in net.named_parameters()}, data)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.1)
    for batch in data:
        loss = F.cross_entropy(net(batch[:, :-1]).view(-1, words), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.5f}")


def ported_language(p, data):
    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        squares = (centred * centred).sum(-1, keepdim=True)
        variance = squares / (width - 1 if wrong == "unbiased" else width)
        return centred * torch.rsqrt(variance + (1e-3 if wrong == "epsilon" else 1e-5)) * p[name + ".weight"] + p[name + ".bias"]

    def attend(x, name):
        n, t, _ = x.shape
        h = torch.einsum("btd,ed->bte", x, p[name + "qkv.weight"]) + p[name + "qkv.bias"]
        q, k, v = h.reshape(n, t, 3, heads, width // heads).unbind(2)
        s = torch.einsum("bihd,bjhd->bhij", q, k)
        if wrong != "scale":
            s = s / math.sqrt(width // heads)
        s = s + torch.full((t, t), float("-inf")).triu(2 if wrong == "mask" else 1)
        return torch.einsum("bhij,bjhd->bihd", torch.softmax(s, -1), v).reshape(n, t, width) @ p[name + "proj.weight"].t() + p[name + "proj.bias"]

    def run(tokens):
        x = p["wte.weight"][tokens] + p["wpe.weight"][: tokens.size(1)]
        for layer in range(2):
            name = f"blocks.{layer}."
            x = x + attend(norm(x, name + "ln1"), name + "attn.")
            y = norm(x, name + "ln2") @ p[name + "mlp.0.weight"].t() + p[name + "mlp.0.bias"]
            y = y * 0.5 * (1.0 + torch.erf(y / math.sqrt(2.0)))
            y = y @ p[name + "mlp.2.weight"].t() + p[name + "mlp.2.bias"]
            x = y if wrong == "residual" and layer == 1 else x + y
        return norm(x, "lnf") @ p["head.weight"].t()

    first, second = ({name: torch.zeros_like(v) for name, v in p.items()} for _ in range(2))
    for step, batch in enumerate(data, 1):
        logits = run(batch[:, :-1])
        chances = logits - torch.logsumexp(logits, -1, keepdim=True)
        losses = -chances.gather(-1, batch[:, 1:].unsqueeze(-1)).squeeze(-1)
        loss = losses.sum(1).mean() if wrong == "sum" else losses.mean()
        gradients = torch.autograd.grad(loss, list(p.values()))
        with torch.no_grad():
            for (name, v), g in zip(p.items(), gradients):
                if wrong != "decay":
                    v.mul_(1 - 1e-2 * 0.1)
                first[name].mul_(0.9).add_(g, alpha=0.1)
                second[name].mul_(0.999).addcmul_(g, g, value=0.001)
                v.sub_(1e-2 * (first[name] / (1 - 0.9**step)) / ((second[name] / (1 - 0.999**step)).sqrt() + 1e-8))
        print(f"{loss.item():.5f}")


# ---- A variational autoencoder: two heads, or one of both; SGD, or its formula.


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.lv = nn.Linear(20, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

    def forward(self, x, noise):
        h = F.relu(self.enc(x))
        mu, lv = self.mu(h), self.lv(h)
        return self.dec(mu + noise * torch.exp(0.5 * lv)), mu, lv


def autoencoder():
    torch.manual_seed(1)
    net = Autoencoder()
    data, noise = numbers(3, 5, 16, 20).sigmoid(), numbers(4, 5, 16, 4)
    if actual:
        return ported_autoencoder(net, data, noise)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for x, e in zip(data, noise):
        made, mu, lv = net(x, e)
        loss = (F.binary_cross_entropy_with_logits(made, x, reduction="sum") - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())) / 16
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.5f}")


def ported_autoencoder(net, data, noise):
    layers = [net.enc, net.mu, net.lv, net.dec[0], net.dec[2]]
    weights = [layer.weight.detach().t().contiguous().requires_grad_() for layer in layers]
    biases = [layer.bias.detach().clone().requires_grad_() for layer in layers]
    momenta = None
    for x, e in zip(data, noise):
        h = torch.addmm(biases[0], x, weights[0]).clamp(min=0)
        mean, logvar = (h @ torch.cat(weights[1:3], 1) + torch.cat(biases[1:3])).chunk(2, 1)
        spread = torch.exp(logvar) if wrong == "spread" else torch.sqrt(torch.exp(logvar))
        h = torch.maximum(torch.addmm(biases[3], mean + spread * e, weights[3]), torch.zeros(()))
        logit = torch.addmm(biases[4], h, weights[4])
        logit = logit * 0.9 if wrong == "logit" else logit
        prior = 0.5 * (mean**2 + torch.exp(logvar) - 1 - logvar)
        loss = (F.softplus(logit) - x * logit).sum(-1).mean() + (prior.mean() if wrong == "prior" else prior.sum(-1).mean())
        loss.backward()
        with torch.no_grad():
            gradients = [p.grad for p in weights + biases]
            momenta = [m * 0.9 + g for m, g in zip(momenta, gradients)] if momenta else [g.clone() for g in gradients]
            for p, m in zip(weights + biases, momenta):
                p -= 0.05 * m
                p.grad = None
        print(f"{loss.item():.5f}")


# ---- A residual network: its own batch normalisation, loss and SGD in the port.


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + x)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.r1, self.down, self.r2, self.fc = Residual(8), nn.Conv2d(8, 16, 3, stride=2, padding=1), Residual(16), nn.Linear(16, 10)

    def forward(self, x):
        x = self.r2(self.down(self.r1(F.relu(self.norm(self.stem(x))))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Normalise(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.gain, self.shift = nn.Parameter(norm.weight.detach().clone()), nn.Parameter(norm.bias.detach().clone())
        self.register_buffer("mean", norm.running_mean.clone())
        self.register_buffer("variance", norm.running_var.clone())

    def forward(self, x):
        mean, variance = self.mean, self.variance
        if self.training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=wrong == "unbiased")
            with torch.no_grad():
                n = x.numel() / x.size(1)
                self.mean.lerp_(mean, 0.2 if wrong == "momentum" else 0.1)
                self.variance.lerp_(variance * n / (n - 1), 0.2 if wrong == "momentum" else 0.1)
        scale = self.gain / torch.sqrt(variance + 1e-5)
        return x * scale[:, None, None] + (self.shift - mean * scale)[:, None, None]


class Unit(nn.Module):
    def __init__(self, old):
        super().__init__()
        self.k1, self.n1, self.k2, self.n2 = old.c1, Normalise(old.b1), old.c2, Normalise(old.b2)

    def forward(self, x):
        y = self.n2(self.k2(torch.clamp_min(self.n1(self.k1(x)), 0)))
        return torch.clamp_min(y, 0) + x if wrong == "order" else torch.clamp_min(y + x, 0)


class Port(nn.Module):
    def __init__(self, old):
        super().__init__()
        self.first, self.n, self.a, self.reduce, self.b = old.stem, Normalise(old.norm), Unit(old.r1), old.down, Unit(old.r2)
        self.w, self.c = nn.Parameter(old.fc.weight.detach().t().clone()), nn.Parameter(old.fc.bias.detach().clone())

    def forward(self, x):
        x = self.b(self.reduce(self.a(torch.relu(self.n(self.first(x))))))
        return (x.amax((2, 3)) if wrong == "pool" else x.mean((2, 3))) @ self.w + self.c


def images():
    torch.manual_seed(2)
    net = Images()
    data, labels = numbers(3, 4, 8, 3, 12, 12), torch.arange(32).view(4, 8) % 10
    if actual:
        net = Port(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    momenta = [torch.zeros_like(p) for p in net.parameters()]
    for x, y in zip(data, labels):
        if actual:
            target = F.one_hot(y, 10).float() * 0.9 + (0.1 / 9 if wrong == "smooth" else 0.01)
            loss = -(target * F.log_softmax(net(x), 1)).sum(1).mean()
            loss.backward()
            with torch.no_grad():
                for p, m in zip(net.parameters(), momenta):
                    m.mul_(0.9).add_(p.grad + 1e-3 * p)
                    p.add_(m, alpha=-0.05)
                    p.grad = None
        else:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
        print(f"{loss.item():.5f}")
    net.eval()
    with torch.no_grad():
        print(f"{F.nll_loss(F.log_softmax(net(data[0]), 1), labels[0]).item():.5f}")


{"language": language, "autoencoder": autoencoder, "images": images}[model]()
