# actor critic with GAE, environment in numpy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)


class Track:
    def reset(self):
        self.x, self.t = rng.normal(size=4).astype("float32"), 0
        return self.x

    def step(self, a):
        push = 0.3 if a else -0.3
        self.x = (0.9 * self.x + push * np.array([1, -1, 0.5, 0.2])).astype("float32")
        self.t += 1
        return self.x, float(1 - abs(self.x[0])), self.t >= 5


pi = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
vf = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.RMSprop([*pi.parameters(), *vf.parameters()], lr=1e-2)
env = Track()
gamma, lam = 0.95, 0.9


def collect(n):
    o, buf = env.reset(), []
    for _ in range(n):
        with torch.no_grad():
            p = F.softmax(pi(torch.from_numpy(o)), -1)
        a = int(rng.random() < p[1].item())
        o2, r, d = env.step(a)
        buf.append((o, a, r, d))
        o = env.reset() if d else o2
    return [np.array(c) for c in zip(*buf)] + [o]


for update in range(3):
    obs, act, rew, done, last = collect(12)
    obs, act = torch.from_numpy(obs), torch.from_numpy(act)
    values = vf(torch.cat([obs, torch.from_numpy(last)[None]])).squeeze(-1)
    rew_t = torch.tensor(rew, dtype=torch.float32)
    alive = 1 - torch.tensor(done, dtype=torch.float32)
    adv, run = [None] * 12, torch.zeros(())
    for t in reversed(range(12)):
        delta = rew_t[t] + gamma * alive[t] * values[t + 1] - values[t]
        run = delta + gamma * lam * alive[t] * run
        adv[t] = run
    adv = torch.stack(adv)
    logp = F.log_softmax(pi(obs), -1).gather(1, act[:, None]).squeeze(1)
    actor = -(logp * adv).mean()
    target = (adv + values[:-1]).detach()
    loss = actor + 0.5 * F.mse_loss(values[:-1], target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("update", update, "loss %.6f" % loss.item(), "vf %.6f" % vf[0].weight.sum().item())
