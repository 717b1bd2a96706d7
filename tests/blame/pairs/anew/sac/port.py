# SAC, one file, ensembles as batched matrices
import math
import sys
import torch
from torch import nn
import weights

FAULT = "".join(sys.argv[1:])


class Ensemble(nn.Module):
    """Two Q functions as one stack of matrices."""

    def __init__(self, w):
        super().__init__()
        self.W = nn.ParameterList([nn.Parameter(torch.stack([w[f"q{j}.{i}.weight"].T for j in (1, 2)])) for i in (0, 2, 4)])
        self.B = nn.ParameterList([nn.Parameter(torch.stack([w[f"q{j}.{i}.bias"] for j in (1, 2)]).unsqueeze(1)) for i in (0, 2, 4)])

    def forward(self, obs, act):
        h = torch.hstack((obs, act)).expand(2, -1, -1)
        for i, (m, b) in enumerate(zip(self.W, self.B)):
            h = torch.baddbmm(b, h, m)
            if i < 2:
                h = h.relu()
        return h[..., 0]


class SquashedGaussian(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.l1, self.l2, self.head = nn.Linear(5, 24), nn.Linear(24, 24), nn.Linear(24, 4)
        self.l1.load_state_dict({"weight": w["pi.0.weight"], "bias": w["pi.0.bias"]})
        self.l2.load_state_dict({"weight": w["pi.2.weight"], "bias": w["pi.2.bias"]})
        self.head.load_state_dict({k: torch.cat([w["pi.mu." + k], w["pi.log_std." + k]]) for k in ("weight", "bias")})

    def sample(self, obs, z):
        hidden = torch.relu(self.l2(torch.relu(self.l1(obs))))
        mean, ls = self.head(hidden).tensor_split(2, dim=1)
        ls = torch.clamp(ls, min=-5.0, max=2.0)
        raw = torch.addcmul(mean, ls.exp(), z)
        density = -0.5 * z.pow(2) - ls - 0.5 * math.log(2 * math.pi)
        squash = 2.0 * (math.log(2.0) - raw - nn.functional.softplus(-2.0 * raw))
        return raw.tanh(), (density - squash).sum(1)


class Agent:
    def __init__(self, w):
        self.q, self.q_slow, self.pi = Ensemble(w), Ensemble(w).requires_grad_(False), SquashedGaussian(w)
        self.opt_q = torch.optim.Adam(self.q.parameters(), 1e-2)
        self.opt_pi = torch.optim.Adam(self.pi.parameters(), 5e-3)

    def bellman(self, r, s2, done, z):
        with torch.no_grad():
            a2, lp = self.pi.sample(s2, z)
            soft = self.q_slow(s2, a2).amin(0) - 0.2 * lp
            if FAULT == "fault1":
                return r + 0.97 * soft  # FAULT1
            return torch.where(done > 0, r, r + 0.97 * soft)

    def learn(self, s, a, r, s2, done, z):
        goal = self.bellman(r, s2, done, z[0])
        loss_q = (self.q(s, a) - goal).square().mean(1).sum()
        if FAULT != "fault2":
            self.opt_q.zero_grad()  # FAULT2: not called
        loss_q.backward()
        self.opt_q.step()
        act, lp = self.pi.sample(s, z[1])
        loss_pi = torch.mean(0.2 * lp - self.q(s, act).amin(0))
        self.opt_pi.zero_grad()
        loss_pi.backward()
        self.opt_pi.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.q_slow.parameters()), list(self.q.parameters()), 0.05)
        return loss_q.item(), loss_pi.item()


if __name__ == "__main__":
    replay = weights.blob
    agent = Agent(replay["w"])
    for k in range(4):
        print("%.6f %.6f" % agent.learn(*(replay[n][k] for n in ("s", "a", "r", "s2", "d", "eps"))))
