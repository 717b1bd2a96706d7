import torch, torch.nn as nn, torch.nn.functional as F





def fake_quant(x, scale):
    xs = x.clamp(-128.4999 * scale, 127.4999 * scale) if scale.dim() == 0 else x
    q = torch.round(xs / scale) * scale
    return xs + (q - xs).detach()


class QLinear(nn.Linear):
    def forward(self, x):
        with torch.no_grad():
            ws = self.weight.abs().amax(1, keepdim=True) / 127
            xs = x.abs().max() / 127
        return F.linear(fake_quant(x, xs), fake_quant(self.weight, ws), self.bias)


torch.manual_seed(0)
net = nn.Sequential(QLinear(24, 24), nn.GELU(), QLinear(24, 24), nn.GELU(), nn.Linear(24, 5))
x, y = torch.randn(32, 24), torch.randint(0, 5, (32,))
opt = torch.optim.SGD(net.parameters(), lr=0.2)
for step in range(2):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    print(step, "%.6f" % loss.item())
