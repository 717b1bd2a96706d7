"""Check of our inference port (packed weights, SDPA) against the reference decoder. Grouped-query attention, 6 heads on 2 kv heads."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

D, H, KV, LAYERS, VOCAB = 48, 6, 2, 2, 64
HD = D // H


def checkpoint():
    g = torch.Generator().manual_seed(31)
    n = lambda *s: torch.randn(*s, generator=g) / s[-1] ** 0.5
    w = {"model.embed_tokens.weight": torch.randn(VOCAB, D, generator=g), "model.norm.weight": 1 + 0.1 * torch.randn(D, generator=g)}
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        w[p + "self_attn.q_proj.weight"] = n(D, D)
        w[p + "self_attn.k_proj.weight"] = n(KV * HD, D)
        w[p + "self_attn.v_proj.weight"] = n(KV * HD, D)
        w[p + "self_attn.o_proj.weight"] = n(D, D)
        w[p + "mlp.gate_proj.weight"], w[p + "mlp.up_proj.weight"], w[p + "mlp.down_proj.weight"] = n(2 * D, D), n(2 * D, D), n(D, 2 * D)
        for k in ("input_layernorm", "post_attention_layernorm"):
            w[p + k + ".weight"] = 1 + 0.1 * torch.randn(D, generator=g)
    return w


def rope_tables(t):
    inv = 10000 ** -(torch.arange(0, HD, 2) / HD)
    ang = torch.outer(torch.arange(t).float(), inv)
    return ang.cos(), ang.sin()


# reference --------------------------------------------------------------
class QwenRMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, h):
        return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6))


def repeat_kv(h, n_rep):
    b, kv, t, hd = h.shape
    return h[:, :, None].expand(b, kv, n_rep, t, hd).reshape(b, kv * n_rep, t, hd)


class QwenAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.o_proj = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.k_proj, self.v_proj = nn.Linear(D, KV * HD, bias=False), nn.Linear(D, KV * HD, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, H, HD).transpose(1, 2)
        k = self.k_proj(x).view(b, t, KV, HD).transpose(1, 2)
        v = self.v_proj(x).view(b, t, KV, HD).transpose(1, 2)

        def rot(z):
            a, c = z.chunk(2, -1)
            return z * torch.cat([cos, cos], -1) + torch.cat([-c, a], -1) * torch.cat([sin, sin], -1)
        q, k = rot(q), repeat_kv(rot(k), H // KV)
        v = repeat_kv(v, H // KV)
        att = torch.matmul(q, k.transpose(2, 3)) * HD ** -0.5
        att = att + torch.full((t, t), torch.finfo(att.dtype).min).triu(1)
        att = F.softmax(att, dim=-1, dtype=torch.float32)
        return self.o_proj(torch.matmul(att, v).transpose(1, 2).reshape(b, t, D))


class QwenMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = nn.Linear(D, 2 * D, bias=False), nn.Linear(D, 2 * D, bias=False), nn.Linear(2 * D, D, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class QwenLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = QwenAttention(), QwenMLP()
        self.input_layernorm, self.post_attention_layernorm = QwenRMSNorm(D), QwenRMSNorm(D)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class QwenModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, D)
        self.layers = nn.ModuleList(QwenLayer() for _ in range(LAYERS))
        self.norm = QwenRMSNorm(D)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        cos, sin = rope_tables(ids.shape[1])
        for l in self.layers:
            x = l(x, cos, sin)
        return self.norm(x)


class QwenForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = QwenModel()

    def forward(self, ids):
        return F.linear(self.model(ids), self.model.embed_tokens.weight)


# engine -----------------------------------------------------------------
class PackedAttention(nn.Module):
    def __init__(self, w, p):
        super().__init__()
        self.qkv = nn.Parameter(torch.cat([w[p + f"{x}_proj.weight"] for x in "qkv"]))
        self.out = nn.Parameter(w[p + "o_proj.weight"].clone())

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = F.linear(x, self.qkv).split([D, KV * HD, KV * HD], dim=-1)
        q, k, v = (z.reshape(b, t, -1, HD).transpose(1, 2) for z in (q, k, v))

        def rot(z):
            a, c = z[..., :HD // 2], z[..., HD // 2:]
            return torch.cat([a * cos - c * sin, c * cos + a * sin], -1)
        q, k = rot(q), rot(k)
        k = k.repeat(1, H // KV, 1, 1)
        v = v.repeat(1, H // KV, 1, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(y.transpose(1, 2).reshape(b, t, D), self.out)


class FusedLayer(nn.Module):
    def __init__(self, w, i):
        super().__init__()
        p = f"model.layers.{i}."
        self.attn = PackedAttention(w, p + "self_attn.")
        self.gate_up = nn.Parameter(torch.cat([w[p + "mlp.gate_proj.weight"], w[p + "mlp.up_proj.weight"]]))
        self.down = nn.Parameter(w[p + "mlp.down_proj.weight"].clone())
        self.n1 = nn.Parameter(w[p + "input_layernorm.weight"].clone())
        self.n2 = nn.Parameter(w[p + "post_attention_layernorm.weight"].clone())

    def forward(self, x, cos, sin):
        x = x + self.attn(F.rms_norm(x, (D,), self.n1, 1e-6), cos, sin)
        g, u = F.linear(F.rms_norm(x, (D,), self.n2, 1e-6), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(g) * u, self.down)


class Engine(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.embedding = nn.Parameter(w["model.embed_tokens.weight"].clone())
        self.decoder = nn.ModuleList(FusedLayer(w, i) for i in range(LAYERS))
        self.final = nn.Parameter(w["model.norm.weight"].clone())

    def forward(self, ids):
        x = self.embedding[ids]
        cos, sin = rope_tables(ids.shape[1])
        for l in self.decoder:
            x = l(x, cos, sin)
        return F.rms_norm(x, (D,), self.final, 1e-6) @ self.embedding.T


ap = argparse.ArgumentParser()
ap.add_argument("who", nargs="?", default="golden")
who = ap.parse_args().who
weights = checkpoint()
if who == "golden":
    net = QwenForCausalLM()
    net.load_state_dict(weights)
else:
    net = Engine(weights)
ids = torch.randint(0, VOCAB, (2, 10), generator=torch.Generator().manual_seed(3))
with torch.no_grad():
    logits = net.eval()(ids)
print("RESULT", logits.double().abs().sum().item(), logits[:, -1].argmax(-1).tolist())
