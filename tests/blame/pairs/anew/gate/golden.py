import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(3)
class SE(nn.Module):
    def __init__(s, c):
        super().__init__(); s.down = nn.Conv2d(c, c // 2, 1); s.up = nn.Conv2d(c // 2, c, 1)
    def forward(s, x):
        return x * torch.sigmoid(s.up(F.relu(s.down(F.adaptive_avg_pool2d(x, 1)))))
class Net(nn.Module):
    def __init__(s):
        super().__init__(); s.stem = nn.Conv2d(3, 8, 3, padding=1); s.norm = nn.GroupNorm(2, 8); s.se = SE(8); s.side = nn.Conv2d(8, 8, 1); s.head = nn.Linear(8, 5)
    def forward(s, x):
        h = F.relu(s.norm(s.stem(x)))
        return s.head((s.se(h) + s.side(h)).mean((2, 3)))
net = Net(); opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(3, 6, 3, 8, 8), torch.randint(0, 5, (3, 6))
for i in range(3):
    loss = F.cross_entropy(net(x[i]), y[i]); opt.zero_grad(); loss.backward(); opt.step(); print("%.6f" % loss.item())
