"""A causal transformer on tokens, trained with gradient clipping: gpt_train.py [row=1] [fault=...]"""
import math
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F

opts = dict(a.partition("=")[::2] for a in sys.argv[1:])
fault = opts.get("fault")
V, T, C, H = 40, 8, 32, 4
torch.manual_seed(3)


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.register_buffer("bias", torch.tril(torch.ones(T, T)).view(1, 1, T, T))

    def forward(self, x):
        B, t, c = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (y.view(B, t, H, c // H).transpose(1, 2) for y in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)) * (1.1 if fault == "scale" else 1))
        att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, t, c))


class Block(nn.Module):
    def __init__(self, last):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(C), nn.LayerNorm(C, eps=1e-3 if last and fault == "epsilon" else 1e-5)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T + 1, C)
        self.h = nn.ModuleList([Block(False), Block(True)])
        self.ln_f, self.lm_head = nn.LayerNorm(C), nn.Linear(C, V, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets):
        pos = torch.arange(0, idx.shape[1]) + (fault == "position")
        x = self.wte(idx) + self.wpe(pos)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, V), targets.view(-1), ignore_index=-1)


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
data = torch.randint(0, V, (4, T + 1), generator=torch.Generator().manual_seed(1))
if "row" in opts:
    data = data[int(opts["row"]):int(opts["row"]) + 1]
for step in range(2):
    logits, loss = model(data[:, :-1].contiguous(), data[:, 1:].contiguous())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(float(loss))
