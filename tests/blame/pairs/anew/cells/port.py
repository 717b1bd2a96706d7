import sys, math, torch
from torch import nn
FAULT = "".join(sys.argv[1:])
torch.manual_seed(5)
emb = nn.Embedding(30, 12); left = nn.Linear(12, 12); right = nn.Linear(12, 12, bias=False); cell = nn.GRUCell(12, 12); out = nn.Linear(12, 30)
params = [p for m in (emb, left, right, cell, out) for p in m.parameters()]
def gru(x, h):
    gi, gh = x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh
    ir, iz, inn = gi.chunk(3, 1); hr, hz, hn = gh.chunk(3, 1)
    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
    n = torch.tanh(inn + hn) if FAULT == "fault1" else torch.tanh(inn + r * hn)   # FAULT1
    return n + z * (h - n)
m = [torch.zeros_like(p) for p in params]; v = [torch.zeros_like(p) for p in params]
t = torch.randint(0, 30, (3, 5, 7))
for i in range(3):
    rows = emb.weight[t[i].T]                    # T, B, D
    pre = rows @ left.weight.T + left.bias
    h = torch.zeros(5, 12); states = []
    for k in range(6):
        h = gru(torch.tanh(pre[k] + h @ right.weight.T), h); states.append(h)
    logits = torch.stack(states) @ out.weight.T + out.bias
    logp = logits - logits.logsumexp(-1, keepdim=True)
    loss = -logp.gather(-1, t[i].T[1:, :, None]).mean()
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for j, (p, d) in enumerate(zip(params, grads)):
            m[j] = 0.9 * m[j] + 0.1 * d; v[j] = 0.999 * v[j] + 0.001 * d * d
            mh, vh = m[j] / (1 - 0.9 ** (i + 1)), v[j] / (1 - 0.999 ** (i + 1))
            step = mh / (vh.sqrt() + 1e-8)
            if FAULT == "fault2":
                p -= 0.01 * (step + 0.1 * p) * 2 ** 0.5 / 2 ** 0.5 * (1 if j else 0.5)   # FAULT2
            else:
                p -= 0.01 * (step + 0.1 * p)
    print("%.6f" % loss.item())
