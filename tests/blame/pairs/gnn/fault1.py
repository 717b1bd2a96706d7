import torch

torch.manual_seed(0)
N, E = 20, 60
src, dst = torch.randint(0, N, (E,)), torch.randint(0, N, (E,))
loops = torch.arange(N)
x = torch.randn(N, 8)
y = torch.randint(0, 3, (N,))
W1 = (torch.randn(8, 16) * 0.3).requires_grad_()
W2 = (torch.randn(16, 3) * 0.3).requires_grad_()
b1, b2 = torch.zeros(16, requires_grad=True), torch.zeros(3, requires_grad=True)
params = [W1, b1, W2, b2]

src, dst = torch.cat([src, loops]), torch.cat([dst, loops])
deg = torch.zeros(N).index_add_(0, src, torch.ones(len(src)))
norm = deg[src].rsqrt() * deg[dst].rsqrt()


def propagate(h):
    m = h.index_select(0, src) * norm.unsqueeze(1)
    return torch.zeros(N, h.size(1)).index_add(0, dst, m)


def net(x):
    h = torch.relu(propagate(x @ W1) + b1)
    return propagate(h @ W2) + b2


for epoch in range(3):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.sub_(0.5 * g)
    print(epoch, "%.6f" % loss.item())
