"""GPT-NeoX-like in bfloat16: model built in bf16 (rotary table kept in fp32) vs. built in fp32 and converted with .to(bf16)."""
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F


class NeoXRotary(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)), persistent=False)

    def forward(self, x, seq_len):
        t = torch.arange(seq_len, dtype=self.inv_freq.dtype)
        freqs = torch.einsum("i,j->ij", t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)


def apply_rotary(x, cos, sin):
    x1, x2 = x.chunk(2, -1)
    return x * cos + torch.cat((-x2, x1), -1) * sin


class NeoXLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.query_key_value, self.dense = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.dense_h_to_4h, self.dense_4h_to_h = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.rotary_emb = NeoXRotary(d // h)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.query_key_value(self.input_layernorm(x)).view(b, t, self.h, -1).transpose(1, 2).chunk(3, -1)
        cos, sin = self.rotary_emb(v, t)
        q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)
        s = (q @ k.transpose(-1, -2)) * (d // self.h) ** -0.5
        s = s.masked_fill(~torch.ones(t, t, dtype=torch.bool).tril(), torch.finfo(s.dtype).min)
        a = self.dense((s.float().softmax(-1).to(v.dtype) @ v).transpose(1, 2).reshape(b, t, d))
        m = self.dense_4h_to_h(F.gelu(self.dense_h_to_4h(self.post_attention_layernorm(x))))
        return x + a + m


class NeoX(nn.Module):
    def __init__(self, vocab=70, d=48, h=4, layers=2):
        super().__init__()
        self.embed_in = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(NeoXLayer(d, h) for _ in range(layers))
        self.final_layer_norm = nn.LayerNorm(d)
        self.embed_out = nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.embed_in(ids)
        for layer in self.layers:
            x = layer(x)
        return self.embed_out(self.final_layer_norm(x))


def load(convert):
    torch.manual_seed(12)
    model = NeoX()
    if convert:
        return model.to(torch.bfloat16)
    for p in model.parameters():           # what from_pretrained(torch_dtype=bfloat16) ends up with
        p.data = p.data.to(torch.bfloat16)
    return model


@torch.no_grad()
def main():
    model = load(sys.argv[1:] == ["actual"]).eval()
    ids = torch.randint(0, 70, (1, 200), generator=torch.Generator().manual_seed(1))
    logits = model(ids).float()
    nll = F.cross_entropy(logits[0, :-1], ids[0, 1:])
    print("RESULT", nll.item(), logits.double().abs().sum().item())


main()
