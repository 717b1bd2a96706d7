"""What both programs load."""

import torch
torch.manual_seed(1)
V, D, FF, L, P = 60, 32, 64, 2, 16
w = {}
def lin(n, o, i): w[n + ".weight"] = torch.randn(o, i) * i ** -.5; w[n + ".bias"] = .05 * torch.randn(o)
def ln(n): w[n + ".weight"] = 1 + .1 * torch.randn(D); w[n + ".bias"] = .1 * torch.randn(D)
w["embeddings.word.weight"] = torch.randn(V, D); w["embeddings.position.weight"] = torch.randn(P, D) * .7; w["embeddings.token_type.weight"] = torch.randn(2, D) * .3
ln("embeddings.LayerNorm")
for i in range(L):
    p = f"layer.{i}."
    for n in ("query", "key", "value", "output"): lin(p + "attention." + n, D, D)
    ln(p + "attention.LayerNorm"); lin(p + "intermediate", FF, D); lin(p + "output", D, FF); ln(p + "LayerNorm")
lin("pooler", D, D); lin("classifier", 3, D)
rows = [[1] + torch.randint(3, V, (n,)).tolist() + [2] for n in (7, 3, 10)]
blob = {"w": w, "rows": rows}
