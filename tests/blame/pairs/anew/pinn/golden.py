"""Physics-informed network: viscous Burgers equation, derivatives by double backward."""
import os
import math
import torch
import torch.nn as nn

NU = 0.05


class PINN(nn.Module):
    def __init__(self, width=20, depth=3):
        super().__init__()
        layers, n = [], 2
        for _ in range(depth):
            layers += [nn.Linear(n, width), nn.Tanh()]
            n = width
        self.net = nn.Sequential(*layers, nn.Linear(n, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def residual(model, x, t):
    x.requires_grad_(True)
    t.requires_grad_(True)
    u = model(x, t)
    ones = torch.ones_like(u)
    u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
    u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
    return u_t + u * u_x - NU * u_xx


def sample(n, g):
    x = 2 * torch.rand(n, 1, generator=g) - 1
    t = torch.rand(n, 1, generator=g)
    return x, t


def main():
    torch.manual_seed(3)
    model = PINN()
    f = "init.pt"
    if not os.path.exists(f):
        torch.save(model.state_dict(), f)
    model.load_state_dict(torch.load(f))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    g = torch.Generator().manual_seed(5)
    for step in range(5):
        x, t = sample(64, g)
        x0 = 2 * torch.rand(24, 1, generator=g) - 1
        tb = torch.rand(16, 1, generator=g)
        opt.zero_grad()
        loss_pde = residual(model, x, t).pow(2).mean()
        u0 = model(x0, torch.zeros_like(x0))
        loss_ic = nn.functional.mse_loss(u0, -torch.sin(math.pi * x0))
        left = model(-torch.ones_like(tb), tb)
        right = model(torch.ones_like(tb), tb)
        loss_bc = left.pow(2).mean() + right.pow(2).mean()
        loss = loss_pde + 10.0 * loss_ic + loss_bc
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.7f}")


main()
