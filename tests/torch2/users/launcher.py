"""Starts itself as other programs do: a helper in a process of its own, and what it printed."""

import subprocess
import sys

import torch

print(subprocess.run([sys.executable, "-c", "print('the helper has no torch')"], capture_output=True, text=True, check=True).stdout.strip())
torch.manual_seed(22)
weights = torch.linalg.qr(torch.randn(4, 4)).Q
print(torch.linalg.det(weights).abs().item().hex(), torch.linalg.svdvals(weights).sum().item().hex())
