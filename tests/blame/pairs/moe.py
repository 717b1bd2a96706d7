# Mixture of experts.  golden: a loop over the experts.  actual: tokens sorted by expert, split, unsorted.
# python moe.py golden|actual [sound|gate]      (forward and backward)
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d, h, bias=False), nn.Linear(h, d, bias=False), nn.Linear(d, h, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LoopMoE(nn.Module):
    def __init__(self, d=32, h=64, n=4, k=2):
        super().__init__()
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(Expert(d, h) for _ in range(n))
        self.k = k

    def forward(self, x):
        shape = x.shape
        x = x.view(-1, shape[-1])
        weights, chosen = torch.topk(self.gate(x).softmax(-1), self.k)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, nth = torch.where(chosen == i)
            out[token] += weights[token, nth, None] * expert(x[token])
        return out.view(shape)


class SortedMoE(LoopMoE):
    fault = False

    def forward(self, x):
        bsz, seq, d = x.shape
        flat = x.reshape(-1, d)
        scores = F.softmax(self.gate(flat), dim=-1)
        top_w, top_i = scores.topk(self.k, dim=-1)
        top_w = top_w / top_w.sum(dim=-1, keepdim=True)
        ids = top_i.flatten()
        order = ids.argsort(stable=True)
        counts = torch.bincount(ids, minlength=len(self.experts)).tolist()
        gathered = flat[order // self.k]
        outs = torch.cat([e(part) for e, part in zip(self.experts, gathered.split(counts))])
        if self.fault:
            outs = outs * top_w.flatten()[:, None]            # token order, but outs are in expert order
        else:
            outs = outs * top_w.flatten()[order][:, None]
        y = torch.zeros_like(flat).index_add(0, order // self.k, outs)
        return y.view(bsz, seq, d)


class Model(nn.Module):
    def __init__(self, moe):
        super().__init__()
        self.inp = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.moe = moe()
        self.norm2 = nn.LayerNorm(32)
        self.mlp = nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 8))

    def forward(self, x):
        x = self.inp(x)
        x = x + self.moe(self.norm(x))
        return self.mlp(self.norm2(x))


torch.manual_seed(42)
SortedMoE.fault = sys.argv[2:] == ["gate"]
model = Model(LoopMoE if sys.argv[1] == "golden" else SortedMoE)
optim = torch.optim.AdamW(model.parameters(), lr=3e-4)
x, y = torch.randn(3, 10, 16), torch.randint(0, 8, (3, 10))
loss = F.cross_entropy(model(x).transpose(1, 2), y)
loss.backward()
optim.step()
print(f"{loss.item():.7f} {sum(p.grad.norm() for p in model.parameters()):.6f}")
