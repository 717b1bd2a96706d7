"""bfloat16 by autocast with float32 weights, AdamW, gradients accumulated over two batches."""
import torch
from common import digest, digits
from torch import nn

torch.manual_seed(0)
x, y = digits(64)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.GELU(), nn.Flatten(), nn.Linear(288, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad(set_to_none=True)
    for part in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x[part::2]), y[part::2]) / 2
        loss.backward()
    optimizer.step()
print(loss.item(), digest(net))
