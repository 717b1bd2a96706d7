"""Reinforcement learning: an environment in Python, actions drawn from a distribution, one update for each episode."""

import fingerprint
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(15)
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
value = nn.Linear(2, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
for episode in range(2):
    place, rewards, logs, values = torch.zeros(2), [], [], []
    while place.norm() < 2 and len(rewards) < 6:
        choice = Categorical(logits=policy(place))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        values.append(value(place))
        place = place + torch.tensor([0.3 * (action.item() - 1), 0.5])
        rewards.append(float(place[1] - place[0].abs()))
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    advantage = returns - torch.cat(values)
    loss = -(torch.stack(logs) * advantage.detach()).sum() + advantage.pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(episode, len(rewards), loss.item().hex())
print(fingerprint.of(policy.state_dict()))
