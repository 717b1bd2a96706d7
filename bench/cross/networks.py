"""The four networks, with random but fixed weights, in eval mode."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.position = nn.Parameter(torch.randn(1, 16, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=False)
        self.layers = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(32, 10)

    def forward(self, tokens):
        return self.head(self.layers(self.embedding(tokens) + self.position).mean(1))


class Block(nn.Module):
    """A transformer block of plain operators: queries, keys and values apart."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.project = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(b, t, self.heads, c // self.heads).transpose(1, 2) for f in (self.query, self.key, self.value))
        weights = torch.softmax(q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5, -1)
        x = x + self.project((weights @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(100, 32)
        self.positions = nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([Block() for _ in range(4)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 100, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 5)

    def forward(self, words):
        y, _ = self.lstm(self.embedding(words))
        return torch.log_softmax(self.head(torch.tanh(y)), -1)


def double(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.bottom = double(3, 8), double(8, 16), double(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.grow2, self.up2 = nn.ConvTranspose2d(32, 16, 2, 2), double(32, 16)
        self.grow1, self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), double(24, 8)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.bottom(self.pool(b))
        y = self.up2(torch.cat([self.grow2(c), b], 1))
        y = self.up1(torch.cat([self.grow1(y), a], 1))
        return torch.sigmoid(self.head(y))


def resnet18():
    import torchvision
    return torchvision.models.resnet18(weights=None)


NETWORKS = {
    "resnet18": (resnet18, lambda: torch.randn(2, 3, 64, 64)),
    "encoder": (Encoder, lambda: torch.randint(0, 100, (2, 16))),
    "transformer": (Transformer, lambda: torch.randint(0, 100, (2, 16))),
    "lstm": (Tagger, lambda: torch.randint(0, 50, (3, 7))),
    "unet": (UNet, lambda: torch.randn(2, 3, 32, 32)),
}


def make(name):
    torch.manual_seed(3)
    network, example = NETWORKS[name]
    network = network()
    for module in network.modules():  # statistics as after a training: a folded norm then changes the numbers
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.2)
    return network.eval(), example()
