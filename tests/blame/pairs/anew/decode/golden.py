"""One full pass: logits at every position."""
import torch
from torch import nn
import torch.nn.functional as F
import weights


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4, kv=2, hd=8):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, hd
        self.q_proj = nn.Linear(dim, heads * hd, bias=False)
        self.k_proj = nn.Linear(dim, kv * hd, bias=False)
        self.v_proj = nn.Linear(dim, kv * hd, bias=False)
        self.o_proj = nn.Linear(heads * hd, dim, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.heads, self.hd).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.kv, self.hd).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.kv, self.hd).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        k = k.repeat_interleave(self.heads // self.kv, dim=1)
        v = v.repeat_interleave(self.heads // self.kv, dim=1)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(o.transpose(1, 2).reshape(b, t, -1))


class MLP(nn.Module):
    def __init__(self, dim=32, ff=48):
        super().__init__()
        self.gate_proj = nn.Linear(dim, ff, bias=False)
        self.up_proj = nn.Linear(dim, ff, bias=False)
        self.down_proj = nn.Linear(ff, dim, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = Attention(), MLP()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(32), RMSNorm(32)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(48, 32)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm = RMSNorm(32)

    def forward(self, ids):
        pos = torch.arange(ids.shape[1])
        inv = 1.0 / (10000 ** (torch.arange(0, 8, 2).float() / 8))
        ang = torch.outer(pos.float(), inv)
        ang = torch.cat((ang, ang), dim=-1)
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, ang.cos(), ang.sin())
        return self.norm(x)


class CausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Model()
        self.lm_head = nn.Linear(32, 48, bias=False)

    def forward(self, ids):
        return self.lm_head(self.model(ids))


blob = weights.blob
lm = CausalLM().eval()
lm.load_state_dict(blob["w"])
with torch.inference_mode():
    logits = lm(blob["ids"])
for i in range(4, 9):
    print(i, " ".join("%.5f" % v for v in logits[:, i, :3].flatten().tolist()))
