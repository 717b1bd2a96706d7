"""Inference engine: prefill of 5 tokens, then one token at a time with a KV cache. Merged qkv and gate/up."""
import math
import sys
from dataclasses import dataclass, field
import torch
from torch import Tensor, nn
import weights

FAULT = "".join(sys.argv[1:])


@dataclass
class KVStore:
    layers: int
    limit: int = 16
    keys: list = field(default_factory=list)
    values: list = field(default_factory=list)
    length: int = 0

    def allocate(self, batch, kv, hd):
        self.keys = [torch.zeros(batch, self.limit, kv, hd) for _ in range(self.layers)]
        self.values = [torch.zeros(batch, self.limit, kv, hd) for _ in range(self.layers)]

    def put(self, layer, k: Tensor, v: Tensor):
        end = self.length + k.size(1)
        if FAULT == "fault4" and self.length:
            k = self.keys[layer][:, end - 2:end - 1]  # FAULT4
        self.keys[layer][:, self.length:end] = k
        self.values[layer][:, self.length:end] = v
        return self.keys[layer][:, :end], self.values[layer][:, :end]


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.g = nn.Parameter(torch.empty(n))

    def forward(self, h):
        return nn.functional.rms_norm(h, (h.size(-1),), self.g, 1e-6)


class Decoder(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.norm_a, self.norm_f = Norm(32), Norm(32)
        self.qkv = nn.Linear(32, (4 + 2 + 2) * 8, bias=False)
        self.proj = nn.Linear(32, 32, bias=False)
        self.gate_up = nn.Linear(32, 96, bias=False)
        self.down = nn.Linear(48, 32, bias=False)

    def rope(self, x, table):
        re, im = x[..., :4], x[..., 4:]
        c, s = table[0][:, None], table[1][:, None]
        return torch.cat([re * c - im * s, im * c + re * s], -1)

    def forward(self, h, table, store: KVStore):
        B, T, _ = h.shape
        q, k, v = self.qkv(self.norm_a(h)).split((32, 16, 16), -1)
        q = self.rope(q.view(B, T, 4, 8), table)
        k = self.rope(k.view(B, T, 2, 8), table)
        k, v = store.put(self.index, k, v.view(B, T, 2, 8))
        S = k.size(1)
        if FAULT == "fault2":
            k, v = k.repeat(1, 1, 2, 1), v.repeat(1, 1, 2, 1)  # FAULT2
        else:
            k = k[:, :, :, None].expand(B, S, 2, 2, 8).reshape(B, S, 4, 8)
            v = v[:, :, :, None].expand(B, S, 2, 2, 8).reshape(B, S, 4, 8)
        score = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(8)
        if FAULT == "fault3" and T == 1:
            score = score * math.sqrt(8)  # FAULT3
        if T > 1:
            score = score + torch.full((T, S), float("-inf")).triu(S - T + 1)
        mix = torch.einsum("bhts,bshd->bthd", score.softmax(-1), v)
        h = h + self.proj(mix.reshape(B, T, 32))
        gate, up = self.gate_up(self.norm_f(h)).chunk(2, -1)
        return h + self.down(nn.functional.silu(gate) * up)


class Engine(nn.Module):
    def __init__(self, n_layers=2):
        super().__init__()
        self.wte = nn.Embedding(48, 32)
        self.stack = nn.ModuleList(Decoder(i) for i in range(n_layers))
        self.norm_out = Norm(32)
        self.unembed = nn.Linear(32, 48, bias=False)
        freq = 10000.0 ** (-torch.arange(4) / 4)
        angles = torch.arange(16)[:, None] * freq
        self.register_buffer("angles", angles, persistent=False)

    def forward(self, tokens, store):
        T = tokens.size(1)
        first = store.length
        if FAULT == "fault1" and first > 0:
            first = store.length - 1  # FAULT1
        part = self.angles[first:first + T]
        h = self.wte(tokens)
        for block in self.stack:
            h = block(h, (part.cos(), part.sin()), store)
        store.length += T
        return self.unembed(self.norm_out(h[:, -1]))


def load(engine, w):
    sd = {"wte.weight": w["model.embed_tokens.weight"], "norm_out.g": w["model.norm.weight"], "unembed.weight": w["lm_head.weight"]}
    for i in range(2):
        a, b = f"model.layers.{i}.", f"stack.{i}."
        sd[b + "qkv.weight"] = torch.cat([w[a + f"self_attn.{n}_proj.weight"] for n in "qkv"])
        sd[b + "proj.weight"] = w[a + "self_attn.o_proj.weight"]
        sd[b + "gate_up.weight"] = torch.cat([w[a + "mlp.gate_proj.weight"], w[a + "mlp.up_proj.weight"]])
        sd[b + "down.weight"] = w[a + "mlp.down_proj.weight"]
        sd[b + "norm_a.g"], sd[b + "norm_f.g"] = w[a + "input_layernorm.weight"], w[a + "post_attention_layernorm.weight"]
    engine.load_state_dict(sd)


@torch.no_grad()
def main():
    data = weights.blob
    engine = Engine()
    load(engine, data["w"])
    store = KVStore(2)
    store.allocate(2, 2, 8)
    at = 0
    for n in (5, 1, 1, 1, 1):
        out = engine(data["ids"][:, at:at + n], store)
        at += n
        print(at - 1, " ".join("%.5f" % v for v in out[:, :3].flatten().tolist()))


main()
