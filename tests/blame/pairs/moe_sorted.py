"""Mixtral-style sparse MoE: HF's per-expert loop vs. my sorted/grouped dispatch."""
import sys
import torch
import torch.nn.functional as F
from torch import nn


class Config:
    hidden_size = 24
    intermediate_size = 32
    num_local_experts = 6
    num_experts_per_tok = 2
    router_aux_loss_coef = 0.02
    vocab_size = 37
    num_hidden_layers = 2
    grouped = False


class ExpertMLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w1 = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.w2 = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)
        self.w3 = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoeBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.k, self.n, self.grouped = c.num_experts_per_tok, c.num_local_experts, c.grouped
        self.gate = nn.Linear(c.hidden_size, self.n, bias=False)
        self.experts = nn.ModuleList(ExpertMLP(c) for _ in range(self.n))

    def loop(self, x, weights, chosen):
        out = torch.zeros_like(x)
        onehot = F.one_hot(chosen, self.n).permute(2, 1, 0)
        for e in range(self.n):
            slot, tok = torch.where(onehot[e])
            if tok.numel() == 0:
                continue
            out.index_add_(0, tok, self.experts[e](x[tok]) * weights[tok, slot, None])
        return out

    def dispatch(self, x, weights, chosen):
        flat = chosen.flatten()
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=self.n).tolist()
        tokens = order // self.k
        pieces = x[tokens].split(counts)
        w1 = [e.w1.weight for e in self.experts]
        w2 = [e.w2.weight for e in self.experts]
        w3 = [e.w3.weight for e in self.experts]
        y = torch.cat([F.linear(F.silu(F.linear(p, a)) * F.linear(p, c), b) for p, a, b, c in zip(pieces, w1, w2, w3)])
        y = y[order.argsort()].view(-1, self.k, x.shape[-1])
        return torch.einsum("tkd,tk->td", y, weights)

    def forward(self, h):
        x = h.reshape(-1, h.shape[-1])
        router_logits = self.gate(x)
        probs = F.softmax(router_logits, dim=1, dtype=torch.float)
        weights, chosen = torch.topk(probs, self.k, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        y = (self.dispatch if self.grouped else self.loop)(x, weights, chosen)
        return y.view_as(h), router_logits


def load_balancing_loss(all_logits, n, k):
    probs = torch.cat(all_logits).softmax(-1)
    _, sel = probs.topk(k, -1)
    frac = F.one_hot(sel, n).float().mean(0)
    return n * (frac * probs.mean(0)[None]).sum()


class MoeLM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed = nn.Embedding(c.vocab_size, c.hidden_size)
        self.norms = nn.ModuleList(nn.LayerNorm(c.hidden_size) for _ in range(c.num_hidden_layers))
        self.moes = nn.ModuleList(SparseMoeBlock(c) for _ in range(c.num_hidden_layers))
        self.lm_head = nn.Linear(c.hidden_size, c.vocab_size, bias=False)

    def forward(self, ids, labels):
        x, all_logits = self.embed(ids), []
        for norm, moe in zip(self.norms, self.moes):
            y, logits = moe(norm(x))
            x = x + y
            all_logits.append(logits)
        ce = F.cross_entropy(self.lm_head(x).flatten(0, 1), labels.flatten())
        aux = load_balancing_loss(all_logits, self.c.num_local_experts, self.c.num_experts_per_tok)
        return ce + self.c.router_aux_loss_coef * aux, ce


if __name__ == "__main__":
    cfg = Config()
    cfg.grouped = sys.argv[-1] == "actual"
    torch.manual_seed(2024)
    model = MoeLM(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    ids = torch.randint(0, cfg.vocab_size, (3, 9))
    for it in range(2):
        loss, ce = model(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iter", it, "loss", loss.item(), ce.item())
    print("RESULT", loss.item(), ce.item())
