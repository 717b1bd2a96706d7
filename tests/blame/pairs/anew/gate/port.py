import sys, torch
FAULT = "".join(sys.argv[1:])
torch.manual_seed(3)
def lin(o, i, k=1):
    c = torch.nn.Conv2d(i, o, k); return c.weight, c.bias
w = {"stem": lin(8, 3, 3)}
g, b = torch.ones(8, requires_grad=True), torch.zeros(8, requires_grad=True)
w["down"], w["up"], w["side"] = lin(4, 8), lin(8, 4), lin(8, 8)
h_ = torch.nn.Linear(8, 5); w["head"] = (h_.weight, h_.bias)
params = [*w["stem"], g, b, *w["down"], *w["up"], *w["side"], *w["head"]]
def gn(x):                                  # x: B,H,W,C
    B, H, W, C = x.shape
    z = x.reshape(B, H * W, 2, C // 2)
    m = z.mean((1, 3), keepdim=True); v = ((z - m) ** 2).mean((1, 3), keepdim=True)
    eps = 1e-3 if FAULT == "fault1" else 1e-5     # FAULT1
    return ((z - m) / (v + eps).sqrt()).reshape(x.shape) * g + b
def net(x):
    wt, bs = w["stem"]
    cols = torch.nn.functional.unfold(x, 3, padding=1).transpose(1, 2)
    h = (cols @ wt.reshape(8, -1).T + bs).reshape(x.shape[0], 8, 8, 8)
    h = gn(h).clamp(min=0)
    s = h.mean((1, 2))
    s = torch.clamp(s @ w["down"][0][:, :, 0, 0].T + w["down"][1], min=0)
    gate = torch.sigmoid(s @ w["up"][0][:, :, 0, 0].T + w["up"][1])
    if FAULT == "fault2":
        gate = gate * 2                      # FAULT2
    out = h * gate[:, None, None, :] + (h @ w["side"][0][:, :, 0, 0].T + w["side"][1])
    return out.mean((1, 2)) @ w["head"][0].T + w["head"][1]
x, y = torch.randn(3, 6, 3, 8, 8), torch.randint(0, 5, (3, 6))
for i in range(3):
    o = net(x[i]); loss = (o.logsumexp(1) - o.gather(1, y[i][:, None])[:, 0]).mean()
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, d in zip(params, grads): p -= 0.1 * d
    print("%.6f" % loss.item())
