"""A model and its port: `ports.py PAIR` is golden, the reference; `ports.py PAIR actual` the port, with the reference's weights."""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
name = sys.argv[1]
wrong = name if actual and not name.startswith("sound") else ""


class SelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(d, d) for _ in range(4))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        return self.output((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.attention, self.norm1 = SelfAttention(d, heads), nn.LayerNorm(d)
        self.intermediate, self.out, self.norm2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.LayerNorm(d)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.out(F.gelu(self.intermediate(x))))


class Encoder(nn.Module):
    def __init__(self, d=16, heads=2, layers=2):
        super().__init__()
        self.words = nn.Embedding(30, d)
        self.layer = nn.ModuleList(EncoderLayer(d, heads) for _ in range(layers))
        self.classifier = nn.Linear(d, 5)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layer:
            x = layer(x)
        return self.classifier(x)


class Attn(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.n, self.qkv, self.proj = n, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.n, d // self.n).permute(2, 0, 3, 1, 4)
        q = q * (d if wrong == "scale" else d // self.n) ** -0.5
        return self.proj((q @ k.transpose(2, 3)).softmax(dim=-1).matmul(v).permute(0, 2, 1, 3).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        eps = 1e-3 if wrong == "epsilon" else 1e-5
        self.attn, self.ln_a, self.ln_b = Attn(d, n), nn.LayerNorm(d, eps=eps), nn.LayerNorm(d, eps=eps)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU() if wrong == "activation" else nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, h):
        h = self.ln_a(h + self.attn(h))
        return self.ln_b(self.mlp(h) if wrong == "residual" else h + self.mlp(h))


class Transformer(nn.Module):
    def __init__(self, d=16, n=2, depth=2):
        super().__init__()
        self.embed, self.head = nn.Embedding(30, d), nn.Linear(d, 5)
        self.blocks = nn.Sequential(*[Block(d, n) for _ in range(depth)])

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


def port(reference):
    net, state = Transformer(), {}
    for key, value in reference.state_dict().items():
        if "attention.query" in key:
            layer, kind = key.split(".")[1], key.rsplit(".", 1)[1]
            parts = [reference.state_dict()[f"layer.{layer}.attention.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"blocks.{layer}.attn.qkv.{kind}"] = torch.cat(parts)
        elif "attention.key" not in key and "attention.value" not in key:
            for old, new in [("words", "embed"), ("classifier", "head"), ("layer.", "blocks."), ("attention.output", "attn.proj"),
                             ("norm1", "ln_a"), ("norm2", "ln_b"), ("intermediate", "mlp.0"), (".out.", ".mlp.2.")]:
                key = key.replace(old, new)
            state[key] = value
    if wrong == "exchanged":
        for kind in "weight", "bias":
            one, two = f"blocks.0.mlp.2.{kind}", f"blocks.1.mlp.2.{kind}"
            state[one], state[two] = state[two], state[one]
    net.load_state_dict(state)
    return net


class Bank(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.last = nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x):
        return self.last(torch.relu(self.bn(self.conv(x))).mean(2))


class PortedBank(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6, momentum=0.01 if wrong else 0.1), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
        self.classifier = nn.Linear(6, 3)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def train_bank():
    torch.manual_seed(0)
    net = Bank()
    if actual:
        state, net = list(net.state_dict().values()), PortedBank()
        net.load_state_dict(dict(zip(net.state_dict(), state)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(1)
    for _ in range(2):
        opt.zero_grad()
        F.cross_entropy(net(torch.randn(5, 4, 9, generator=data)), torch.arange(5) % 3).backward()
        opt.step()


if name in ("momentum", "sound_bank"):
    sys.exit(train_bank())
torch.manual_seed(0)
net = Encoder()
with torch.no_grad():
    for parameter in net.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
if name == "unrelated" and actual:
    net = nn.Sequential(nn.Embedding(30, 24), nn.Linear(24, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 5))
elif actual:
    net = port(net)
ids = torch.randint(30, (2, 7), generator=torch.Generator().manual_seed(1))
if name == "sound_training":
    loss = F.cross_entropy(net(ids).flatten(0, 1), ids.flatten() % 5)
    loss.backward()
    print(loss.item())
else:
    with torch.no_grad():
        print(net(ids).argmax(-1).tolist())
