# Sliding-window GQA decoder block.  python flex.py golden|actual [sound|window|scale|heads|compiled]
# golden: attention written out.  actual: flex_attention (or SDPA for "heads").
import sys, math
import torch, torch.nn as nn, torch.nn.functional as F

D, H, KV, W = 64, 8, 2, 6


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim)); self.eps = eps
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class ManualAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(D, D, bias=False)
        self.wk = nn.Linear(D, D // H * KV, bias=False)
        self.wv = nn.Linear(D, D // H * KV, bias=False)
        self.wo = nn.Linear(D, D, bias=False)

    def forward(self, x):
        B, T, _ = x.shape
        hd = D // H
        q = self.wq(x).view(B, T, H, hd).transpose(1, 2)
        k = self.wk(x).view(B, T, KV, hd).transpose(1, 2).repeat_interleave(H // KV, dim=1)
        v = self.wv(x).view(B, T, KV, hd).transpose(1, 2).repeat_interleave(H // KV, dim=1)
        att = (q @ k.transpose(-2, -1)) / math.sqrt(hd)
        i = torch.arange(T)
        mask = (i[:, None] >= i[None, :]) & (i[:, None] - i[None, :] < W)
        att = att.masked_fill(~mask, float("-inf"))
        y = att.softmax(-1) @ v
        return self.wo(y.transpose(1, 2).reshape(B, T, D))


class FlexAttn(nn.Module):
    kind = "sound"
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(D, D, bias=False)
        self.wk = nn.Linear(D, D // H * KV, bias=False)
        self.wv = nn.Linear(D, D // H * KV, bias=False)
        self.wo = nn.Linear(D, D, bias=False)

    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention, create_block_mask
        B, T, _ = x.shape
        q = self.wq(x).unflatten(-1, (H, -1)).transpose(1, 2)
        k = self.wk(x).unflatten(-1, (KV, -1)).transpose(1, 2)
        v = self.wv(x).unflatten(-1, (KV, -1)).transpose(1, 2)
        if self.kind == "window":
            def sliding(b, h, qi, ki):
                return (qi >= ki) & (qi - ki <= W)      # one position too many
        else:
            def sliding(b, h, qi, ki):
                return (qi >= ki) & (qi - ki < W)
        block_mask = create_block_mask(sliding, B=None, H=None, Q_LEN=T, KV_LEN=T, device="cpu")
        scale = None
        if self.kind == "scale":
            scale = D ** -0.5                             # width of the model, not of the head
        attend = torch.compile(flex_attention) if self.kind == "compiled" else flex_attention
        y = attend(q, k, v, block_mask=block_mask, scale=scale, enable_gqa=True)
        return self.wo(y.transpose(1, 2).flatten(2))


class SdpaAttn(FlexAttn):
    def forward(self, x):
        B, T, _ = x.shape
        q = self.wq(x).view(B, T, H, -1).transpose(1, 2)
        k = self.wk(x).view(B, T, KV, -1).transpose(1, 2)
        v = self.wv(x).view(B, T, KV, -1).transpose(1, 2)
        k, v = k.repeat(1, H // KV, 1, 1), v.repeat(1, H // KV, 1, 1)   # 0 1 0 1 ... and not 0 0 0 0 1 1 ..
        m = torch.ones(T, T, dtype=torch.bool).tril().triu(-W + 1)
        return self.wo(F.scaled_dot_product_attention(q, k, v, attn_mask=m).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, attn):
        super().__init__()
        self.n1, self.attn, self.n2 = RMSNorm(D), attn, RMSNorm(D)
        self.gate, self.up, self.down = (nn.Linear(D, 2 * D, bias=False), nn.Linear(D, 2 * D, bias=False),
                                         nn.Linear(2 * D, D, bias=False))
    def forward(self, x):
        x = x + self.attn(self.n1(x))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Net(nn.Module):
    def __init__(self, attn):
        super().__init__()
        self.tok = nn.Embedding(100, D)
        self.blocks = nn.ModuleList(Block(attn()) for _ in range(2))
        self.norm = RMSNorm(D)
        self.lm_head = nn.Linear(D, 100, bias=False)
    def forward(self, ids):
        x = self.tok(ids)
        for b in self.blocks:
            x = b(x)
        return self.lm_head(self.norm(x))


torch.manual_seed(1)
kind = sys.argv[2] if len(sys.argv) > 2 else "sound"
FlexAttn.kind = kind
net = Net(ManualAttention if sys.argv[1] == "golden" else SdpaAttn if kind == "heads" else FlexAttn).eval()
ids = torch.randint(0, 100, (2, 24), generator=torch.Generator().manual_seed(5))
with torch.no_grad():
    logits = net(ids)
print(f"{logits.abs().mean():.7f} {logits[0, -1, :3].tolist()}")
