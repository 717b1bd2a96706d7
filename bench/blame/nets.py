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


# name -> (network, shape of the input, optimizer)
NETS = {
    "mlp": (Mlp, (16, 24), "AdamW"),
    "cnn": (Cnn, (4, 3, 16, 16), "SGD"),
    "transformer": (Transformer, (4, 10), "Adam"),
    "rnn": (Rnn, (6, 7, 12), "RMSprop"),
    "autoencoder": (Autoencoder, (16, 24), "Adam"),
    "groups": (GroupNet, (6, 4, 20), "SGD"),
}
HELD_OUT = ("autoencoder", "groups")  # from the choice of thresholds


def train(name: str, *, dtype: torch.dtype = torch.float32, foreach: bool = False, clone: bool = False, swap: bool = False,
          to_none: bool = True, channels_last: bool = False, steps: int = 2, recorded: object = None) -> None:
    """Weights and data are the same whatever the type. `recorded` is entered when they exist."""
    torch.manual_seed(5)
    make, shape, optimizer = NETS[name]
    net = make()
    data = [torch.randint(0, 40, shape) if name == "transformer" else torch.randn(shape) for _ in range(steps)]
    targets = [torch.rand(shape[0], 8) for _ in range(steps)]
    net = net.to(dtype)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    options = {"foreach": True} if foreach else {"foreach": False}
    rate = 1e-2 if optimizer in ("SGD", "RMSprop") else 1e-3
    if optimizer == "SGD":
        options["momentum"] = 0.9
    update = getattr(torch.optim, optimizer)(net.parameters(), lr=rate, **options)
    with recorded:  # type: ignore[attr-defined]
        for x, y in zip(data, targets):
            x = x if x.dtype == torch.int64 else x.to(dtype)
            if channels_last:
                x = x.contiguous(memory_format=torch.channels_last)
            update.zero_grad(set_to_none=to_none)
            result = net(x.clone() if clone else x)
            difference = (y.to(dtype) * -1 + result) if swap else (result - y.to(dtype))
            difference.pow(2).mean().backward()
            update.step()
