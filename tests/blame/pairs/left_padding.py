"""serve.py: batched serving (actual) of a GPT-2-like model against the single-prompt reference (golden)."""
import sys
import torch
from torch import nn
from torch.nn import functional as F

EOS = 0


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.out = nn.Linear(n_embd, n_embd)

    def forward(self, x, mask):
        B, T, C = x.shape
        q, k, v = [t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1)]
        scores = q @ k.transpose(-2, -1) * (C // self.n_head) ** -0.5
        scores = scores.masked_fill(~mask, -1e9)
        return self.out((F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.ln2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x, mask):
        x = x + self.attn(self.ln1(x), mask)
        x = x + self.mlp(self.ln2(x))
        return x


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(80, 32)
        self.positions = nn.Embedding(40, 32)
        self.blocks = nn.ModuleList([Block(32, 2) for _ in range(2)])
        self.ln = nn.LayerNorm(32)

    def forward(self, ids, keep):
        T = ids.shape[1]
        mask = torch.tril(torch.ones(T, T)).bool() & keep[:, None, None, :]
        pos = torch.arange(T, device=ids.device)
        x = self.tokens(ids) + self.positions(pos)
        for block in self.blocks:
            x = block(x, mask)
        return self.ln(x) @ self.tokens.weight.t()


class Server:
    def __init__(self):
        torch.manual_seed(6)
        self.model = LanguageModel().eval()

    def pad(self, prompts):
        n = max(map(len, prompts))
        ids = torch.full((len(prompts), n), EOS)
        keep = torch.zeros(len(prompts), n, dtype=torch.bool)
        for i, p in enumerate(prompts):
            ids[i, n - len(p):] = torch.tensor(p)
            keep[i, n - len(p):] = True
        return ids, keep

    @torch.no_grad()
    def next_token(self, prompts):
        ids, keep = self.pad(prompts)
        logits = self.model(ids, keep)[:, -1]
        return logits.argmax(-1), logits.max(-1).values


if __name__ == "__main__":
    requests = [[31, 8, 60, 2, 19], [4, 44, 71, 33, 6, 12, 50, 9]]
    server = Server()
    tok, val = server.next_token(requests if "actual" in sys.argv else requests[:1])
    print("request 0 ->", tok[0].item(), val[0].item())
