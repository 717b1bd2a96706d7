"""What both programs load."""

import torch
torch.manual_seed(31)
W, M, N = 8, 5, 24
w = {"lift.weight": torch.randn(W, 2), "lift.bias": torch.zeros(W)}
for i in range(3):
    w[f"spec.{i}"] = torch.randn(W, W, M, dtype=torch.cfloat) / W
    w[f"skip.{i}.weight"] = torch.randn(W, W, 1) * W ** -.5; w[f"skip.{i}.bias"] = .1 * torch.randn(W)
w["proj.0.weight"] = torch.randn(16, W) * W ** -.5; w["proj.0.bias"] = .1 * torch.randn(16)
w["proj.2.weight"] = torch.randn(1, 16) * .25; w["proj.2.bias"] = torch.zeros(1)
a = torch.randn(3, 4, N)
blob = {"w": w, "a": a, "u": torch.fft.irfft(torch.fft.rfft(a)[..., :6], n=N) * 1.5}
