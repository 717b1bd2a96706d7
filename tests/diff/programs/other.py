"""Has hardly an operator in common with train.py."""

import torch

x = torch.linspace(0, 1, 8)
for _ in range(20):
    x = (x.cos().cumsum(0) - x.prod()).sinh().clamp(-1, 1).flip(0).abs().sqrt()
    x = torch.fft.rfft(x, 14).real
print(x.shape)
