"""Small networks that train for two steps, with one kind of layer each that the others do not have."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.b, self.c = nn.Linear(24, 48), nn.LayerNorm(48), nn.Linear(48, 48), nn.Linear(48, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.a(x)))
        return self.c(torch.tanh(self.b(x)) * 0.5 + x)


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm = nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.b, self.c = nn.Conv2d(12, 16, 3, stride=2), nn.Linear(16 * 49, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.b(F.relu(self.norm(self.a(x)))))
        return self.c(x.flatten(1))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 32)
        self.qkv, self.out, self.norm1, self.norm2 = nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32), nn.LayerNorm(32)
        self.up, self.down, self.head = nn.Linear(32, 64), nn.Linear(64, 32), nn.Linear(32, 8)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        b, t, d = x.shape
        q, k, v = (part.view(b, t, 4, d // 4).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2) / (d // 4) ** 0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return self.head(x.mean(1))


class Rnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(12, 16, batch_first=True), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = nn.Linear(24, 32), nn.Linear(32, 6), nn.Linear(6, 32), nn.Linear(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.d(torch.sigmoid(self.c(torch.tanh(self.b(torch.sigmoid(self.a(x))))))))


class GroupNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.b = nn.Conv1d(4, 16, 5, padding=2), nn.GroupNorm(4, 16), nn.Conv1d(16, 8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(F.silu(self.norm(self.a(x)))).mean(-1)


class Unet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)
        self.up, self.c = nn.ConvTranspose2d(12, 8, 2, stride=2), nn.Conv2d(16, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = F.leaky_relu(self.a(x))
        return self.c(torch.cat([first, self.up(F.elu(self.b(F.max_pool2d(first, 2))))], 1)).mean((2, 3))


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.mean, self.spread, self.b = nn.Linear(24, 32), nn.Linear(32, 6), nn.Linear(32, 6), nn.Linear(6, 8)
        self.register_buffer("noise", torch.randn(16, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.softplus(self.a(x))
        mean, spread = self.mean(x), self.spread(x)
        penalty = (spread.exp() + mean.pow(2) - 1 - spread).mean(-1, keepdim=True)
        return self.b(mean + self.noise * torch.exp(0.5 * spread)) + 0.1 * penalty


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.things, self.mix = nn.Embedding(40, 16), nn.Embedding(40, 16), nn.Linear(16, 8)

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        u, t = self.users(pairs[:, 0]), self.things(pairs[:, 1:])
        scores = torch.log_softmax((t * u.unsqueeze(1)).sum(-1) / 2, -1)
        return self.mix(torch.einsum("bk,bkd->bd", scores.exp(), t)).sigmoid()


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch, self.norm1, self.norm2 = nn.Conv2d(3, 16, 4, stride=4), nn.LayerNorm(16), nn.LayerNorm(16)
        self.tokens, self.channels, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return self.head((x + F.hardswish(self.channels(self.norm2(x)))).amax(1))


# name -> (network, shape of the input, optimizer)
NETS = {
    "mlp": (Mlp, (16, 24), "AdamW"),
    "cnn": (Cnn, (4, 3, 16, 16), "SGD"),
    "transformer": (Transformer, (4, 10), "Adam"),
    "rnn": (Rnn, (6, 7, 12), "RMSprop"),
    "autoencoder": (Autoencoder, (16, 24), "Adam"),
    "groups": (GroupNet, (6, 4, 20), "SGD"),
    "unet": (Unet, (4, 2, 12, 12), "AdamW"),
    "vae": (Vae, (16, 24), "Adam"),
    "recommender": (Recommender, (16, 6), "Adagrad"),
    "mixer": (Mixer, (4, 3, 16, 16), "SGD"),
}
TOKENS = ("transformer", "recommender")
HELD_OUT = ("autoencoder", "groups", "unet", "recommender")  # from the choice of thresholds


def _forward(net: nn.Module, x: torch.Tensor, checkpointed: bool) -> torch.Tensor:
    if not checkpointed:
        return net(x)
    from torch.utils.checkpoint import checkpoint

    return checkpoint(net, x, use_reentrant=False)


def train(name: str, *, dtype: torch.dtype = torch.float32, foreach: bool = False, clone: bool = False, swap: bool = False,
          to_none: bool = True, channels_last: bool = False, steps: int = 2, seed: int = 5, inference: str = "",
          checkpointed: bool = False, trap: str = "", recorded: object = None) -> None:
    """Weights and data are the same whatever the type. `recorded` is entered when they exist. `inference`: no training, but
    forward passes in a mode of torch. `trap`: see traps.py."""
    torch.manual_seed(seed)
    make, shape, optimizer = NETS[name]
    net = make()
    data = [torch.randint(0, 40, shape) if name in TOKENS else torch.randn(shape) for _ in range(steps)]
    targets = [torch.rand(shape[0], 8) for _ in range(steps)]
    if trap:
        import traps

        getattr(traps, trap)(net, data)
    net = net.to(dtype)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    rate = 1e-2 if optimizer in ("SGD", "RMSprop", "Adagrad") else 1e-3
    options = {"foreach": foreach, "momentum": 0.9} if optimizer == "SGD" else {"foreach": foreach}
    update = getattr(torch.optim, optimizer)(net.parameters(), lr=rate, **options)
    with recorded:  # type: ignore[attr-defined]
        for x, y in zip(data, targets):
            x = x if x.dtype == torch.int64 else x.to(dtype)
            if channels_last and x.dim() == 4:
                x = x.contiguous(memory_format=torch.channels_last)
            if inference:
                with getattr(torch, inference)():
                    net(x)
                continue
            update.zero_grad(set_to_none=to_none)
            result = _forward(net, x.clone() if clone else x, checkpointed)
            difference = (y.to(dtype) * -1 + result) if swap else (result - y.to(dtype))
            difference.pow(2).mean().backward()
            update.step()
