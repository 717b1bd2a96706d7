"""Two networks, two optimizers, and a penalty on gradients of gradients."""

import fingerprint
import torch
from torch import nn

torch.manual_seed(12)
generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
critic = nn.Sequential(nn.utils.spectral_norm(nn.Linear(2, 16)), nn.ReLU(), nn.Linear(16, 1))
optimizers = [torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.9)) for net in (generator, critic)]
for step in range(2):
    real = torch.randn(8, 2) + 3
    fake = generator(torch.randn(8, 4))
    mixed = torch.lerp(real, fake.detach(), torch.rand(8, 1)).requires_grad_()
    slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    loss = critic(fake.detach()).mean() - critic(real).mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean()
    optimizers[1].zero_grad()
    loss.backward()
    optimizers[1].step()
    optimizers[0].zero_grad()
    cost = -critic(generator(torch.randn(8, 4))).mean()
    cost.backward()
    optimizers[0].step()
    print(step, loss.item().hex(), cost.item().hex())
print(fingerprint.of(generator.state_dict(), critic.state_dict()))
