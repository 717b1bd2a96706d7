# Graph convolution.  golden: dense normalised adjacency.  actual: edge list with index_add_.   (torch 1.13 too)
# python gcn.py golden|actual [sound|loops]
import sys, torch
from torch import nn
N = 30
def graph():
    g = torch.Generator().manual_seed(11)
    a = (torch.rand(N, N, generator=g) < 0.12).float()
    a = ((a + a.t()) > 0).float(); a.fill_diagonal_(0)
    return a
class DenseGCN(nn.Module):
    def __init__(s, i, o): super().__init__(); s.lin = nn.Linear(i, o, bias=False); s.bias = nn.Parameter(torch.zeros(o))
    def forward(s, x, adj):
        a = adj + torch.eye(len(adj))
        d = a.sum(1).pow(-0.5)
        return (d[:, None] * a * d[None]) @ s.lin(x) + s.bias
class EdgeGCN(nn.Module):
    loops = True
    def __init__(s, i, o): super().__init__(); s.lin = nn.Linear(i, o, bias=False); s.bias = nn.Parameter(torch.zeros(o))
    def forward(s, x, edge_index):
        if s.loops:
            loop = torch.arange(len(x)); edge_index = torch.cat([edge_index, torch.stack([loop, loop])], 1)
        src, dst = edge_index
        deg = torch.zeros(len(x)).index_add_(0, dst, torch.ones(len(dst)))
        inv = deg.pow(-0.5); inv[inv == float("inf")] = 0
        norm = inv[src] * inv[dst]
        h = s.lin(x)
        return torch.zeros_like(h).index_add_(0, dst, norm[:, None] * h[src]) + s.bias
class Net(nn.Module):
    def __init__(s, conv):
        super().__init__(); s.c1, s.c2, s.out = conv(12, 24), conv(24, 24), nn.Linear(24, 3)
    def forward(s, x, g):
        x = torch.relu(s.c1(x, g)); x = torch.relu(s.c2(x, g)); return s.out(x)
torch.manual_seed(3)
golden = sys.argv[1] == "golden"
EdgeGCN.loops = "loops" not in sys.argv
net = Net(DenseGCN if golden else EdgeGCN); x = torch.randn(N, 12); y = torch.randint(0, 3, (N,))
adj = graph(); g = adj if golden else adj.nonzero().t()
opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(3):
    opt.zero_grad(); loss = nn.functional.cross_entropy(net(x, g), y); loss.backward(); opt.step()
    print(epoch, round(loss.item(), 6))
