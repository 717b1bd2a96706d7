"""Soft actor-critic, four updates from a stored replay buffer."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal
import weights


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(7, 24, 1), mlp(7, 24, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], dim=-1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.mu, self.log_std = nn.Linear(24, 2), nn.Linear(24, 2)

    def forward(self, s, noise):
        h = self.body(s)
        mu, log_std = self.mu(h), self.log_std(h).clamp(-5, 2)
        dist = Normal(mu, log_std.exp())
        u = mu + log_std.exp() * noise
        a = torch.tanh(u)
        logp = dist.log_prob(u).sum(-1)
        logp = logp - (2 * (0.6931471805599453 - u - F.softplus(-2 * u))).sum(-1)
        return a, logp


blob = weights.blob
w = blob["w"]
critic, actor = Critic(), Actor()
critic.load_state_dict({k: v for k, v in w.items() if k[0] == "q"})
actor.load_state_dict({k[3:] if k[3] in "ml" else "body." + k[3:]: v for k, v in w.items() if k.startswith("pi")})
target = copy.deepcopy(critic)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
actor_opt = torch.optim.Adam(actor.parameters(), lr=5e-3)
alpha, gamma, tau = 0.2, 0.97, 0.05
for s, a, r, s2, d, eps in zip(*(blob[k] for k in ("s", "a", "r", "s2", "d", "eps"))):
    with torch.no_grad():
        a2, logp2 = actor(s2, eps[0])
        t1, t2 = target(s2, a2)
        y = r + gamma * (1 - d) * (torch.min(t1, t2) - alpha * logp2)
    q1, q2 = critic(s, a)
    critic_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    new_a, logp = actor(s, eps[1])
    actor_loss = (alpha * logp - torch.min(*critic(s, new_a))).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    with torch.no_grad():
        for p, tp in zip(critic.parameters(), target.parameters()):
            tp.mul_(1 - tau).add_(tau * p)
    print(f"{critic_loss.item():.6f} {actor_loss.item():.6f}")
