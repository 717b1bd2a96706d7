"""DLRM with clipped gradients of single samples (DP-SGD without noise): a loop over the samples."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(sizes, last):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*(layers if last else layers[:-1]))


class DLRM(nn.Module):
    def __init__(self, tables=(20, 30, 10), dim=8, dense=5):
        super().__init__()
        self.bot = mlp([dense, 16, dim], True)
        self.emb = nn.ModuleList([nn.Embedding(n, dim) for n in tables])
        n = len(tables) + 1
        self.top = mlp([dim + n * (n - 1) // 2, 16, 1], False)

    def forward(self, dense, sparse):
        x = self.bot(dense)
        vecs = [x] + [e(sparse[:, i]) for i, e in enumerate(self.emb)]
        T = torch.stack(vecs, dim=1)
        Z = torch.bmm(T, T.transpose(1, 2))
        li = [i for i in range(T.shape[1]) for j in range(i)]
        lj = [j for i in range(T.shape[1]) for j in range(i)]
        R = torch.cat([x, Z[:, li, lj]], dim=1)
        return self.top(R).squeeze(1)


def clicks(g, n=8):
    dense = torch.randn(n, 5, generator=g)
    sparse = torch.stack([torch.randint(0, k, (n,), generator=g) for k in (20, 30, 10)], 1)
    y = ((dense[:, 0] + (sparse[:, 0] % 3 - 1)) > 0).float()
    return dense, sparse, y


def main():
    torch.manual_seed(31)
    model = DLRM()
    f = "init.pt"
    if not os.path.exists(f):
        torch.save(model.state_dict(), f)
    model.load_state_dict(torch.load(f))
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05, foreach=False)
    g = torch.Generator().manual_seed(32)
    max_norm = 1.5
    for step in range(4):
        dense, sparse, y = clicks(g)
        acc = [torch.zeros_like(p) for p in model.parameters()]
        losses = []
        for i in range(len(y)):
            loss = F.binary_cross_entropy_with_logits(model(dense[i:i + 1], sparse[i:i + 1]), y[i:i + 1])
            model.zero_grad()
            loss.backward()
            norm = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in model.parameters()]))
            coef = (max_norm / (norm + 1e-6)).clamp(max=1.0)
            for a, p in zip(acc, model.parameters()):
                a += p.grad * coef
            losses.append(loss.item())
        for a, p in zip(acc, model.parameters()):
            p.grad = a / len(y)
        opt.step()
        print(f"step {step} loss {sum(losses) / len(losses):.7f}")


main()
