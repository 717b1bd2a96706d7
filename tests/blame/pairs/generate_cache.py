import argparse, math
import torch, torch.nn as nn

parser = argparse.ArgumentParser(description="greedy generation, use_cache on/off")
parser.add_argument("mode", nargs="?", default="golden", choices=["golden", "actual"])
parser.add_argument("--new-tokens", type=int, default=5)
opts = parser.parse_args()
torch.manual_seed(3)


class RMSNorm(nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n) + 0.1 * torch.randn(n))
        self.variance_epsilon = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim), persistent=False)

    def forward(self, position_ids):
        freqs = position_ids[..., None].float() * self.inv_freq
        emb = torch.cat((freqs, freqs), -1)
        return emb.cos(), emb.sin()


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class DynamicCache:
    def __init__(self):
        self.layers = {}

    def get_seq_length(self):
        return self.layers[0][0].shape[-2] if self.layers else 0

    def update(self, k, v, idx):
        if idx in self.layers:
            k = torch.cat([self.layers[idx][0], k], dim=-2)
            v = torch.cat([self.layers[idx][1], v], dim=-2)
        self.layers[idx] = (k, v)
        return k, v


class LlamaAttention(nn.Module):
    def __init__(self, d, h, layer_idx):
        super().__init__()
        self.h, self.hd, self.layer_idx = h, d // h, layer_idx
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, pos, mask, past):
        b, t, d = x.shape
        q, k, v = (p(x).view(b, t, self.h, self.hd).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        cos, sin = pos
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        if past is not None:
            k, v = past.update(k, v, self.layer_idx)
        s = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.hd)
        s = s + mask
        return self.o_proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class LlamaDecoderLayer(nn.Module):
    def __init__(self, d, h, i):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(d), RMSNorm(d)
        self.self_attn = LlamaAttention(d, h, i)
        self.gate_proj, self.up_proj, self.down_proj = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False)

    def forward(self, x, pos, mask, past):
        x = x + self.self_attn(self.input_layernorm(x), pos, mask, past)
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(nn.functional.silu(self.gate_proj(h)) * self.up_proj(h))


class LlamaForCausalLM(nn.Module):
    def __init__(self, vocab=50, d=32, h=4, n=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(LlamaDecoderLayer(d, h, i) for i in range(n))
        self.norm = RMSNorm(d)
        self.rotary_emb = RotaryEmbedding(d // h)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, input_ids, past=None):
        seen = past.get_seq_length() if past is not None else 0
        t = input_ids.shape[1]
        position_ids = torch.arange(seen, seen + t)[None]
        mask = torch.full((t, seen + t), float("-inf")).triu(seen + 1)
        pos = tuple(z[:, None] for z in self.rotary_emb(position_ids))
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x, pos, mask, past)
        return self.lm_head(self.norm(x))


@torch.no_grad()
def generate(model, ids, n, use_cache):
    past = DynamicCache() if use_cache else None
    step_in, last = ids, None
    for _ in range(n):
        last = model(step_in, past)[:, -1]
        nxt = last.argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], 1)
        step_in = nxt if use_cache else ids
    return ids, last


model = LlamaForCausalLM().eval()
prompt = torch.tensor([[5, 17, 3, 44, 8, 21], [9, 2, 31, 30, 12, 40]])
ids, last = generate(model, prompt, opts.new_tokens, opts.mode == "actual")
print("RESULT", ids.tolist(), last.double().sum().item(), last.double().abs().sum().item())
