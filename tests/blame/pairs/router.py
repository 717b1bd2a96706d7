# Top-2 routing.  golden: softmax of all experts, top 2, renormalised.  actual: top 2 of the logits, softmax of these (the same).
# fault "noscale": top 2 of softmax, not renormalised.  fault "bias": choice with a bias (noaux) that golden adds to the scores and actual forgot.
# python router.py golden|actual [sound|norenorm|biased]
import sys
import torch
from torch import nn
from torch.nn import functional as F

class Router(nn.Module):
    def __init__(self, dim, n, top):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, dim) * dim ** -0.5)
        self.register_buffer("correction", torch.linspace(-0.05, 0.05, n))
        self.top = top

class Softmaxed(Router):
    def forward(self, x):
        p = F.softmax(F.linear(x, self.weight), dim=-1, dtype=torch.float32)
        if BIASED:
            i = torch.topk(p + self.correction, self.top, dim=-1)[1]
            w = p.gather(-1, i)
        else:
            w, i = torch.topk(p, self.top, dim=-1)
        return w / w.sum(-1, keepdim=True), i

class Direct(Router):
    def forward(self, x):
        z = F.linear(x, self.weight)
        if KIND == "norenorm":
            w, i = z.softmax(-1).topk(self.top, dim=-1)
            return w, i
        w, i = z.topk(self.top, dim=-1)          # "biased": the correction is forgotten
        return w.softmax(-1), i

class Sparse(nn.Module):
    def __init__(self, router, dim=24, n=6):
        super().__init__()
        self.router = router(dim, n, 2)
        self.up = nn.Parameter(torch.randn(n, dim, 2 * dim) * 0.2)
        self.down = nn.Parameter(torch.randn(n, 2 * dim, dim) * 0.2)
    def forward(self, x):
        w, i = self.router(x)
        h = torch.einsum("td,tkdh->tkh", x, self.up[i])
        y = torch.einsum("tkh,tkhd->tkd", F.gelu(h), self.down[i])
        return (y * w[..., None]).sum(1)

class Body(nn.Module):
    def __init__(self, router):
        super().__init__()
        self.proj = nn.Linear(10, 24)
        self.ln = nn.LayerNorm(24)
        self.ffn = Sparse(router)
        self.ln_f = nn.LayerNorm(24)
        self.head = nn.Linear(24, 5)
    def forward(self, x):
        x = self.proj(x)
        x = x + self.ffn(self.ln(x))
        return self.head(self.ln_f(x))

KIND = sys.argv[2] if len(sys.argv) > 2 else "sound"
BIASED = KIND == "biased"
torch.manual_seed(6)
body = Body(Softmaxed if sys.argv[1] == "golden" else Direct)
x, y = torch.randn(20, 10), torch.randint(0, 5, (20,))
loss = F.cross_entropy(body(x), y)
loss.backward()
torch.optim.SGD(body.parameters(), 0.1).step()
print(loss.item())
