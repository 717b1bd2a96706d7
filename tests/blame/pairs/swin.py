"""Shifted-window attention block.  python swin.py golden|actual [sound|roll]

golden: torch.roll and window_partition, with the usual attention mask.
actual: no roll; indices of each window's pixels are gathered, results scattered back (fault: scattered with the index of the roll
in the wrong direction).
"""
import sys
import torch
from torch import nn

SIZE, WIN, SHIFT, DIM, HEADS = 8, 4, 2, 32, 4


def window_partition(x, w):
    B, H, W, C = x.shape
    return x.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, C)


def window_reverse(win, w, H, W):
    B = win.shape[0] // (H * W // w // w)
    return win.view(B, H // w, W // w, w, w, -1).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


def region_mask(size, w, s):
    img = torch.zeros(1, size, size, 1)
    cnt = 0
    for h in (slice(0, -w), slice(-w, -s), slice(-s, None)):
        for v in (slice(0, -w), slice(-w, -s), slice(-s, None)):
            img[:, h, v] = cnt
            cnt += 1
    m = window_partition(img, w).squeeze(-1)
    d = m[:, None, :] - m[:, :, None]
    return d.masked_fill(d != 0, -100.0)


class WindowAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x, mask):
        n, t, c = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
        a = (q * (c // HEADS) ** -0.5) @ k.transpose(-2, -1)
        a = a.view(n // mask.shape[0], mask.shape[0], HEADS, t, t) + mask[None, :, None]
        a = a.view(-1, HEADS, t, t).softmax(-1)
        return self.proj((a @ v).transpose(1, 2).reshape(n, t, c))


class SwinBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(DIM), WindowAttention(), nn.LayerNorm(DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))
        self.register_buffer("mask", region_mask(SIZE, WIN, SHIFT))

    def mix(self, x):
        x = torch.roll(x, (-SHIFT, -SHIFT), dims=(1, 2))
        w = self.attn(window_partition(x, WIN), self.mask)
        return torch.roll(window_reverse(w, WIN, SIZE, SIZE), (SHIFT, SHIFT), dims=(1, 2))

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GatherBlock(SwinBlock):
    fault = False

    def __init__(self):
        super().__init__()
        grid = torch.arange(SIZE * SIZE).view(1, SIZE, SIZE, 1)
        self.register_buffer("where", window_partition(grid.roll((-SHIFT, -SHIFT), (1, 2)), WIN).flatten())
        self.register_buffer("back", window_partition(grid.roll((SHIFT, SHIFT), (1, 2)), WIN).flatten())

    def mix(self, x):
        B = x.shape[0]
        flat = x.flatten(1, 2)
        w = self.attn(flat[:, self.where].reshape(-1, WIN * WIN, DIM), self.mask)
        out = torch.empty_like(flat)
        out[:, self.back if self.fault else self.where] = w.reshape(B, -1, DIM)
        return out.view_as(x)


class Net(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.patch = nn.Conv2d(3, DIM, 4, 4)
        self.block = block()
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, 10)

    def forward(self, img):
        x = self.block(self.patch(img).permute(0, 2, 3, 1))
        return self.head(self.norm(x).mean((1, 2)))


GatherBlock.fault = "roll" in sys.argv
torch.manual_seed(0)
net = Net(SwinBlock if sys.argv[1] == "golden" else GatherBlock).eval()
img = torch.randn(2, 3, 32, 32)
with torch.no_grad():
    print(net(img)[:, :4])
