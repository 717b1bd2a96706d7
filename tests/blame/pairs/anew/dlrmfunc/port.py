# Per-example clipping with torch.func: vmap(grad(functional_call)); Adagrad on lists.
import sys
import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

FAULT = "".join(sys.argv[1:])


class Recommender(nn.Module):
    def __init__(self, tables=(20, 30, 10), dim=8, dense=5):
        super().__init__()
        self.bot = nn.Sequential(nn.Linear(dense, 16), nn.ReLU(), nn.Linear(16, dim), nn.ReLU())
        self.emb = nn.ModuleList(nn.Embedding(n, dim) for n in tables)
        self.top = nn.Sequential(nn.Linear(dim + 6, 16), nn.ReLU(), nn.Linear(16, 1))
        if FAULT == "fault1":
            self.pairs = torch.triu_indices(4, 4, 1)  # FAULT1: pairs of the upper triangle, in another order
        else:
            self.pairs = torch.tril_indices(4, 4, -1)

    def forward(self, dense, ids):
        # one example: dense (5,), ids (3,)
        h = self.bot(dense)
        rows = torch.stack([h, *(table(i) for table, i in zip(self.emb, ids.unbind()))])
        gram = rows @ rows.mT
        return self.top(torch.cat([h, gram[self.pairs[0], self.pairs[1]]]))[0]


net = Recommender()
net.load_state_dict(torch.load("init.pt"))
params = {k: v.detach() for k, v in net.named_parameters()}
state = {k: torch.zeros_like(v) for k, v in params.items()}


def example_loss(p, dense, ids, label):
    z = functional_call(net, p, (dense, ids))
    return nn.functional.softplus(z) - label * z


per_example = vmap(grad_and_value(example_loss), in_dims=(None, 0, 0, 0))


def stream(seed, n=8):
    g = torch.Generator().manual_seed(seed)
    while True:
        d = torch.randn(n, 5, generator=g)
        s = torch.stack([torch.randint(k, (n,), generator=g) for k in (20, 30, 10)], dim=-1)
        yield d, s, (d[:, 0] + s[:, 0] % 3 - 1 > 0).float()


source = stream(32)
for step in range(4):
    d, s, label = next(source)
    grads, loss = per_example(params, d, s, label)
    sq = sum(g.flatten(1).square().sum(1) for g in grads.values())
    factor = 1.5 / (sq.sqrt() + 1e-6)
    if FAULT != "fault2":
        factor = factor.clamp(max=1)  # FAULT2: this line is missing
    names = list(params)
    mean = [torch.einsum("n,n...->...", factor, grads[k]) / len(label) for k in names]
    torch._foreach_addcmul_([state[k] for k in names], mean, mean)
    std = torch._foreach_sqrt([state[k] for k in names])
    torch._foreach_add_(std, 1e-10)
    torch._foreach_addcdiv_([params[k] for k in names], mean, std, value=-0.05)
    print("step", step, "loss %.7f" % loss.mean().item())
