"""GCN + GraphNorm on Zachary-like graphs: sparse message passing (PyG style) vs dense batched adjacency with checkpointing."""
import argparse
import torch
from torch import nn, Tensor
from torch.utils.checkpoint import checkpoint


def scatter_sum(src: Tensor, index: Tensor, n: int) -> Tensor:
    return src.new_zeros(n, src.shape[1]).index_add(0, index, src)


class SparseGCNConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin = nn.Linear(cin, cout, bias=False)
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x, edge_index):
        n = x.shape[0]
        loops = torch.arange(n)
        src, dst = torch.cat([edge_index[0], loops]), torch.cat([edge_index[1], loops])
        deg = torch.zeros(n).index_add(0, dst, torch.ones(dst.shape[0]))
        inv = deg.pow(-0.5)
        norm = inv[src] * inv[dst]
        return scatter_sum(self.lin(x)[src] * norm[:, None], dst, n) + self.bias


class DenseGCNConv(SparseGCNConv):
    def forward(self, x, adj):
        a = adj + torch.eye(adj.shape[-1])
        d = a.sum(-1).rsqrt()
        return (d[:, None] * a * d[None, :]) @ self.lin(x) + self.bias


class GraphEncoder(nn.Module):
    def __init__(self, conv, cin, hid, cout, remat):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = conv(cin, hid), conv(hid, hid), conv(hid, hid)
        self.norm1, self.norm2 = nn.LayerNorm(hid), nn.LayerNorm(hid)
        self.head = nn.Sequential(nn.Linear(hid, hid), nn.ELU(), nn.Linear(hid, cout))
        self.remat = remat

    def mid(self, x, g):
        return x + self.norm2(torch.relu(self.conv2(x, g)))

    def forward(self, x, g):
        x = self.norm1(torch.relu(self.conv1(x, g)))
        x = checkpoint(self.mid, x, g, use_reentrant=False) if self.remat else self.mid(x, g)
        return self.head(self.conv3(x, g))


def random_graph(n, e, seed):
    gen = torch.Generator().manual_seed(seed)
    pairs = torch.randint(0, n, (2, e), generator=gen)
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = torch.cat([pairs, pairs.flip(0)], 1)
    return torch.unique(both, dim=1), torch.randn(n, 6, generator=gen), torch.randint(0, 3, (n,), generator=gen)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("variant", nargs="?", default="golden")
    a = p.parse_args()
    dense = a.variant == "actual"
    edge_index, x, y = random_graph(18, 40, 3)
    torch.manual_seed(8)
    model = GraphEncoder(DenseGCNConv if dense else SparseGCNConv, 6, 16, 3, remat=dense)
    graph = edge_index
    if dense:
        graph = torch.zeros(18, 18)
        graph[edge_index[1], edge_index[0]] = 1.0
    train_mask = torch.arange(18) % 3 != 0
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(3):
        opt.zero_grad()
        out = model(x, graph)
        loss = nn.functional.cross_entropy(out[train_mask], y[train_mask])
        loss.backward()
        opt.step()
        print(epoch, loss.item())
    print("RESULT", loss.item(), out.detach().double().abs().sum().item())
