"""Serve the adapter merged into the base weights (actual) or as a PEFT-like wrapper (golden)."""
import sys, math
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, alpha=16):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        self.scaling = alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling

    def merged(self):
        with torch.no_grad():
            self.base_layer.weight += self.scaling * (self.lora_B.weight @ self.lora_A.weight)
        return self.base_layer


class T5Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.relative_attention_bias = nn.Embedding(8, h)
        self.h = h

    def forward(self, x):
        b, t, d = x.shape
        sh = lambda z: z.view(b, t, self.h, d // self.h).permute(0, 2, 1, 3)
        rel = (torch.arange(t)[None] - torch.arange(t)[:, None]).clamp(-4, 3) + 4
        scores = sh(self.q(x)) @ sh(self.k(x)).transpose(-1, -2)
        scores = scores + self.relative_attention_bias(rel).permute(2, 0, 1)[None]
        p = F.softmax(scores.float(), dim=-1)
        return self.o((p @ sh(self.v(x))).permute(0, 2, 1, 3).reshape(b, t, d))


class T5Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), T5Attention(d, h)
        self.ln2, self.wi, self.wo = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(3 * d, d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.wo(F.relu(self.wi(self.ln2(x))))


class Encoder(nn.Module):
    def __init__(self, d=32, h=4, layers=2, vocab=64):
        super().__init__()
        self.shared = nn.Embedding(vocab, d)
        self.block = nn.ModuleList(T5Block(d, h) for _ in range(layers))
        self.final_layer_norm = nn.LayerNorm(d)
        self.d = d

    def forward(self, ids, attention_mask):
        x = self.shared(ids)
        for b in self.block:
            x = b(x)
        x = self.final_layer_norm(x) * attention_mask[..., None]
        pooled = x.sum(1) / attention_mask.sum(1, keepdim=True)
        return F.normalize(pooled, dim=-1), (x * self.d ** -0.5) @ self.shared.weight.t()


class PeftModel(nn.Module):
    def __init__(self, base_model, targets):
        super().__init__()
        self.base_model = base_model
        g = torch.Generator().manual_seed(99)
        for parent in list(base_model.modules()):
            for name, child in list(parent.named_children()):
                if name in targets and isinstance(child, nn.Linear):
                    wrapped = LoraLinear(child)
                    wrapped.lora_A.weight.data.normal_(0, 1 / math.sqrt(child.in_features), generator=g)
                    wrapped.lora_B.weight.data.normal_(0, 0.05, generator=g)
                    setattr(parent, name, wrapped)

    def merge_and_unload(self):
        for parent in list(self.base_model.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, LoraLinear):
                    setattr(parent, name, child.merged())
        return self.base_model

    def forward(self, *a, **k):
        return self.base_model(*a, **k)


def main(argv):
    torch.manual_seed(1)
    model = PeftModel(Encoder(), {"q", "v", "wo"})
    if "actual" in argv:
        model = model.merge_and_unload()
    model.eval().requires_grad_(False)
    ids = torch.tensor([[3, 9, 22, 51, 7, 1], [40, 8, 60, 2, 1, 33], [12, 12, 5, 6, 30, 1]])
    emb, logits = model(ids, torch.ones(ids.shape))
    sim = emb @ emb.T
    print("RESULT", sim.flatten().tolist(), logits.double().abs().sum().item())


main(sys.argv[1:])
