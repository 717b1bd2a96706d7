"""A policy whose entropy is p log p: once it is sure of itself, p is 0."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
for step in range(40):
    state = torch.randn(32, 4)
    logits = policy(state) * 1.25 ** step  # a schedule that sharpens
    p = torch.softmax(logits, -1)
    entropy = -(p * p.log()).sum(-1).mean()
    loss = -logits.mean() - 0.01 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
