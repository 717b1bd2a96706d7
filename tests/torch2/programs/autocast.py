import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = checkpoint(m, torch.randn(4, 8, requires_grad=True), use_reentrant=False)
y.float().sum().backward(); print(m[0].weight.grad.sum())
