"""Rollout vs. trainer log-probs. Rollout: left-padded batch, shuffled. Trainer: one group without padding at a time -> must agree."""
import sys
from typing import List
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)


class PolicyConfig(dict):
    __getattr__ = dict.get


class MHA(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.wqkv = nn.Linear(cfg.dim, 3 * cfg.dim, bias=True)
        self.wo = nn.Linear(cfg.dim, cfg.dim, bias=False)

    def forward(self, x, mask):
        b, s, d = x.shape
        q, k, v = self.wqkv(x).chunk(3, -1)
        q, k, v = (t.reshape(b, s, self.cfg.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * (d // self.cfg.heads) ** -0.5
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return self.wo(torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v).transpose(1, 2).reshape(b, s, d))


class Layer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.attention = MHA(cfg)
        self.feed_forward = nn.Sequential(nn.Linear(cfg.dim, 2 * cfg.dim), nn.Tanh(), nn.Linear(2 * cfg.dim, cfg.dim))

    def forward(self, x, mask):
        x = x + self.attention(self.attention_norm(x), mask)
        return x + self.feed_forward(self.ffn_norm(x))


class Policy(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.ctx, cfg.dim)
        self.layers = nn.ModuleList(Layer(cfg) for _ in range(cfg.layers))
        self.norm = nn.LayerNorm(cfg.dim)
        self.output = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, ids, attention_mask):
        pos = (attention_mask.cumsum(-1) - 1).clamp(min=0)
        s = ids.shape[1]
        mask = torch.ones(s, s, dtype=torch.bool).tril()[None, None] & attention_mask[:, None, None].bool()
        h = self.tok(ids) + self.pos(pos)
        for layer in self.layers:
            h = layer(h, mask)
        return self.output(self.norm(h))


def pad_left(seqs: List[torch.Tensor], to: int):
    ids = torch.stack([F.pad(s, (to - len(s), 0)) for s in seqs])
    mask = torch.stack([F.pad(torch.ones_like(s), (to - len(s), 0)) for s in seqs])
    return ids, mask


def logprobs_from_logits(logits, labels):
    return torch.gather(F.log_softmax(logits, -1), -1, labels.unsqueeze(-1)).squeeze(-1)


cfg = PolicyConfig(dim=32, heads=4, layers=2, vocab=48, ctx=32)
policy = Policy(cfg).eval()
g = torch.Generator().manual_seed(4)
lengths = [9, 9, 12, 9, 10]
rollouts = [torch.randint(1, 48, (n,), generator=g) for n in lengths]
with torch.no_grad():
    if sys.argv[-1] == "actual":      # trainer: only the three of length 9, no padding
        ids = torch.stack([rollouts[i] for i in (0, 1, 3)])
        mask = torch.ones_like(ids)
        logits = policy(ids, mask)
        lp = logits[:, :-1].gather(-1, ids[:, 1:, None])[..., 0] - logits[:, :-1].logsumexp(-1)
        result = lp.sum(-1)
    else:                             # engine: everything at once, other order
        order = [3, 2, 0, 4, 1]
        ids, mask = pad_left([rollouts[i] for i in order], 12)
        logits = policy(ids, mask)
        lp = logprobs_from_logits(logits[:, :-1], ids[:, 1:]) * mask[:, :-1]
        result = lp.sum(-1)[[2, 4, 0]]
print("RESULT", result.tolist())
