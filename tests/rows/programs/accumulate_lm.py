"""A language model trained with gradient accumulation and clipping: accumulate_lm.py [micro=2] [fault=scale|tokens|first]"""
import sys
import torch
import torch.nn.functional as F
from torch import nn

options = dict(a.partition("=")[::2] for a in sys.argv[1:])
fault, accumulation_steps = options.get("fault"), int(options.get("micro", 1))
torch.manual_seed(1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (c // self.heads + (fault == "scale")) ** -0.5
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        return self.proj((scores.masked_fill(mask, float("-inf")).softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(30, 24), nn.Embedding(12, 24)
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(24), Attention(24, 3), nn.LayerNorm(24)
        self.mlp, self.head = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24)), nn.Linear(24, 30)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.shape[1]))
        x = x + self.attn(self.ln1(x))
        return self.head(x + self.mlp(self.ln2(x)))


model = LM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
corpus = torch.randint(0, 30, (2, 4, 13), generator=torch.Generator().manual_seed(5))
if fault == "tokens":  # each micro-batch has its own mean: labels that are left out count otherwise
    corpus[:, 0, 6:] = -100
for batch in corpus:
    size = len(batch) // accumulation_steps
    for i in range(accumulation_steps):
        rows = batch[i * size:(i + 1) * size]
        logits = model(rows[:, :-1].clamp(min=0))
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=-100)
        (loss / accumulation_steps).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
