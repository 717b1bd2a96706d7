"""An encoder of sequences of vectors with a table of positions and a boolean mask: pad_vectors.py [pad=4] [fault=epsilon|position|scale|mask]"""
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F

opts = dict(a.partition("=")[::2] for a in sys.argv[1:])
fault, pad = opts.get("fault"), int(opts.get("pad", 0))
torch.manual_seed(4)


def sdpa(q, k, v, mask):
    s = torch.einsum("bhqd,bhkd->bhqk", q, k) * (q.shape[-1] ** -0.5) * (1.25 if fault == "scale" else 1)
    if fault != "mask":
        s = torch.where(mask[:, None, None, :], s, torch.tensor(float("-inf")))
    return torch.einsum("bhqk,bhkd->bhqd", s.softmax(-1), v)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(10, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16, eps=1e-2 if fault == "epsilon" else 1e-5)
        pe = torch.zeros(32, 16)
        t = torch.arange(32)[:, None] / torch.pow(100.0, torch.arange(0, 16, 2) / 16)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(t), torch.cos(t)
        self.register_buffer("pe", pe)

    def forward(self, feats, lengths):
        B, T, _ = feats.shape
        mask = torch.arange(T)[None, :] < lengths[:, None]
        start = 1 if fault == "position" else 0
        x = self.proj(feats) + self.pe[start:start + T]
        q, k, v = self.qkv(self.norm(x)).reshape(B, T, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.out(sdpa(q, k, v, mask).transpose(1, 2).reshape(B, T, 16))
        return x[torch.arange(B), lengths - 1]


net = Net().eval()
feats = torch.randn(3, 6, 10)
lengths = torch.full((3,), 6)
if pad:
    feats = F.pad(feats, (0, 0, 0, pad))
with torch.no_grad():
    print(net(feats, lengths).sum())
