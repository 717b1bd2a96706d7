"""A small diffusion model: a network that goes down and up again, noise of a schedule, and the loop that removes it."""

import fingerprint
import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(10, 8)
        self.down = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.middle = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x, t):
        kept = nn.functional.silu(self.norm(self.down(x)) + self.time(t)[:, :, None, None])
        deep = nn.functional.interpolate(self.middle(nn.functional.avg_pool2d(kept, 2)), scale_factor=2.0)
        return self.up(torch.cat([kept, deep], dim=1))


torch.manual_seed(17)
beta = torch.linspace(1e-3, 0.2, 10)
alpha = (1 - beta).cumprod(0)
model = Network()
optimizer = torch.optim.NAdam(model.parameters())
for step in range(2):
    x, t, noise = torch.rand(4, 1, 8, 8), torch.randint(10, (4,)), torch.randn(4, 1, 8, 8)
    a = alpha[t].view(-1, 1, 1, 1)
    loss = nn.functional.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex())
x = torch.randn(1, 1, 8, 8)
with torch.no_grad():
    for t in reversed(range(3)):
        x = (x - beta[t] / (1 - alpha[t]).sqrt() * model(x, torch.tensor([t]))) / (1 - beta[t]).sqrt()
print(fingerprint.of(x))
