import torch, torch.nn as nn
torch.manual_seed(5)
class Tree(nn.Module):
    def __init__(s):
        super().__init__(); s.emb = nn.Embedding(30, 12); s.left = nn.Linear(12, 12); s.right = nn.Linear(12, 12, bias=False); s.gru = nn.GRUCell(12, 12); s.out = nn.Linear(12, 30)
    def forward(s, t):
        h = torch.zeros(t.shape[0], 12); loss = 0
        for k in range(t.shape[1] - 1):
            e = s.emb(t[:, k])
            u = torch.tanh(s.left(e) + s.right(h))
            h = s.gru(u, h)
            loss = loss + nn.functional.cross_entropy(s.out(h), t[:, k + 1])
        return loss / (t.shape[1] - 1)
net = Tree(); opt = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1)
t = torch.randint(0, 30, (3, 5, 7))
for i in range(3):
    loss = net(t[i]); opt.zero_grad(); loss.backward(); opt.step(); print("%.6f" % loss.item())
