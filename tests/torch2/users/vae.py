"""A variational autoencoder: distributions, a loss of two parts, samples of a trained model."""

import fingerprint
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ELU(), nn.Flatten(), nn.Linear(64, 6))
        self.decoder = nn.Sequential(nn.Linear(3, 64), nn.Unflatten(1, (4, 4, 4)), nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1))

    def forward(self, x):
        mean, scale = self.encoder(x).chunk(2, dim=1)
        hidden = Normal(mean, nn.functional.softplus(scale) + 1e-3)
        return self.decoder(hidden.rsample()), kl_divergence(hidden, Normal(0.0, 1.0)).sum(1)


torch.manual_seed(16)
model = Autoencoder()
optimizer = torch.optim.Adamax(model.parameters())
pictures = torch.rand(6, 1, 8, 8)
for step in range(2):
    made, divergence = model(pictures)
    loss = nn.functional.binary_cross_entropy_with_logits(made, pictures, reduction="none").sum((1, 2, 3)).add(divergence).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex())
with torch.no_grad():
    print(fingerprint.of(model.decoder(torch.randn(2, 3)).sigmoid()))
