# Language model step: the whole batch with for-loop Adam, against 4 micro-batches with foreach/fused Adam and clipping.
# python accum.py golden|actual [sound|fused|clip|tokens]
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F

KIND = sys.argv[2] if len(sys.argv) > 2 else "sound"
GOLDEN = sys.argv[1] == "golden"
V = 33

class GPT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.wte = nn.Embedding(V, d)
        self.wpe = nn.Embedding(16, d)
        self.h = nn.ModuleList(nn.ModuleDict(dict(ln_1=nn.LayerNorm(d), attn=nn.MultiheadAttention(d, 4, batch_first=True),
                               ln_2=nn.LayerNorm(d), mlp=nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))))
                               for _ in range(2))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        t = idx.size(1)
        x = self.wte(idx) + self.wpe(torch.arange(t))
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        for b in self.h:
            n = b.ln_1(x)
            x = x + b.attn(n, n, n, attn_mask=mask, need_weights=False)[0]
            x = x + b.mlp(b.ln_2(x))
        return self.lm_head(self.ln_f(x))

torch.manual_seed(1337)
model = GPT()
idx = torch.randint(0, V, (8, 13))
x, y = idx[:, :-1], idx[:, 1:].clone()
if KIND == "tokens":
    for row, n in enumerate([2, 3, 4, 9, 12, 10, 12, 11]):
        y[row, :12 - n] = -100                     # prompts do not count
opts = dict(lr=3e-3, betas=(0.9, 0.95))
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False) if GOLDEN else \
    torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)

def lossf(logits, target):
    return F.cross_entropy(logits.reshape(-1, V), target.reshape(-1), ignore_index=-100)

for it in range(2):
    if GOLDEN:
        loss = lossf(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        total = loss.item()
    else:
        total = 0.0
        for mx, my in zip(x.split(2), y.split(2)):
            loss = lossf(model(mx), my)
            if KIND == "clip":
                loss.backward()
            else:
                (loss / 4).backward()
            total += loss.item() / 4
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if KIND == "clip":                         # averaged after clipping
            for p in model.parameters():
                p.grad /= 4
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(it, round(total, 6), round(model.wte.weight.double().sum().item(), 5), round(model.h[0].attn.in_proj_weight.double().sum().item(), 5))
