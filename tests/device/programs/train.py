"""Trains on the device that the first argument names, and prints how often it waited for the device within its steps."""
import sys

import torch

device = sys.argv[1]
if device == "late":
    import late

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 4))
batches = [(torch.randn(32, 16), torch.randint(0, 4, (32,))) for _ in range(3)]
model.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
waits = late.waits if device == "late" else lambda: 0
losses, waited = [], 0
for x, y in batches:
    x, y = x.to(device), y.to(device)
    before = waits()
    optimizer.zero_grad()
    scores = model(x)
    scores.mul_(0.5).add_(1)  # memory that operators before and after see in other states
    loss = torch.nn.functional.cross_entropy(scores, y)
    loss.backward()
    waited += waits() - before
    optimizer.step()
    losses.append(loss.detach())
print("waited", waited)
print([loss.item() for loss in losses])
print(sum(parameter.double().sum().item() for parameter in model.parameters()))
