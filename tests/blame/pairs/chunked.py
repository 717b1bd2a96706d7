# Prefill of a prompt.  golden: one pass.  actual: chunks of 4 with a KV cache.
# python chunked.py golden | actual [sound|position|causal]
import sys
import torch
from torch import nn
import torch.nn.functional as F

KIND = sys.argv[2] if len(sys.argv) > 2 else "sound"


def rope(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    freqs = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angle = positions[:, None].float() * freqs
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class KVCache:
    def __init__(self, layers, heads, size, dim):
        self.k = torch.zeros(layers, 1, heads, size, dim)
        self.v = torch.zeros(layers, 1, heads, size, dim)

    def update(self, layer, pos, k, v):
        end = pos + k.shape[2]
        self.k[layer, :, :, pos:end] = k
        self.v[layer, :, :, pos:end] = v
        return self.k[layer, :, :, :end], self.v[layer, :, :, :end]


class Attention(nn.Module):
    def __init__(self, index, dim=48, heads=4):
        super().__init__()
        self.index, self.heads = index, heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)

    def forward(self, x, start, cache):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        positions = torch.arange(start, start + T)
        if KIND == "position" and start:
            positions = positions - 1          # the cache counts the last token twice
        q, k = rope(q, positions), rope(k, positions)
        if cache is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            k, v = cache.update(self.index, start, k, v)
            if KIND == "causal":
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)   # top-left aligned
            else:
                S = k.shape[2]
                mask = torch.arange(S)[None, :] <= (start + torch.arange(T))[:, None]
                y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(y.transpose(1, 2).reshape(B, T, C))


class Layer(nn.Module):
    def __init__(self, index, dim=48):
        super().__init__()
        self.input_norm, self.post_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(index, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))

    def forward(self, x, start, cache):
        x = x + self.attn(self.input_norm(x), start, cache)
        return x + self.mlp(self.post_norm(x))


class Decoder(nn.Module):
    def __init__(self, vocab=64, dim=48, layers=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(i, dim) for i in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids, start=0, cache=None):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, start, cache)
        return self.out(self.norm(x))


torch.manual_seed(0)
model = Decoder().eval()
prompt = torch.tensor([[5, 17, 3, 42, 8, 60, 21, 33, 9, 11, 50, 2, 28, 40]])
with torch.inference_mode():
    if sys.argv[1] == "golden":
        logits = model(prompt)
    else:
        cache, pos = KVCache(3, 4, 32, 12), 0
        for chunk in prompt.split(4, dim=1):
            logits = model(chunk, pos, cache)
            pos += chunk.shape[1]
print([round(x, 5) for x in logits[0, -1, :5].tolist()])
