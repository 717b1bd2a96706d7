# bf16: residual stream kept in bf16 (model.bfloat16()) against float32 weights.  Only rounding.   fault: norm computed without upcast is only
# rounding too, so the fault is another one: the post-norm's (1 + w) of Gemma is forgotten for one norm.
# python resid.py golden|actual [sound|gemma]
import sys, torch
from torch import nn
import torch.nn.functional as F
class GemmaNorm(nn.Module):
    def __init__(self, d, plus=1.0):
        super().__init__(); self.weight = nn.Parameter(torch.randn(d) * 0.1); self.plus = plus
    def forward(self, x):
        h = x.float(); h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (h * (self.plus + self.weight.float())).type_as(x)
class Layer(nn.Module):
    def __init__(self, d=64, plus=1.0):
        super().__init__()
        self.pre, self.post = GemmaNorm(d), GemmaNorm(d, plus)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.g, self.u, self.d = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False)
    def forward(self, x):
        b, t, c = x.shape
        n = self.pre(x)
        q, k, v = (f(n).view(b, t, 4, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        n = self.post(x)
        return x + self.d(F.gelu(self.g(n), approximate="tanh") * self.u(n))
class Model(nn.Module):
    def __init__(self, plus):
        super().__init__()
        self.emb = nn.Embedding(80, 64)
        self.layers = nn.ModuleList(Layer(plus=plus if i == 1 else 1.0) for i in range(4))
        self.norm = GemmaNorm(64)
    def forward(self, i):
        x = self.emb(i) * 64 ** 0.5
        for l in self.layers: x = l(x)
        return F.linear(self.norm(x), self.emb.weight)
torch.manual_seed(9)
m = Model(0.0 if "gemma2" in sys.argv else 1.0).eval()
if sys.argv[1] == "actual": m = m.bfloat16()
with torch.no_grad():
    for _ in range(2):
        y = m(torch.randint(0, 80, (2, 16)))
        print(y.float().abs().mean().item())
