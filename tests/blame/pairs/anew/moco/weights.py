"""What both programs load."""

import torch
torch.manual_seed(6)
w = {}
def conv(n, o, i): w[n + ".weight"] = torch.randn(o, i, 5) * (i * 5) ** -.5; w[n + ".bias"] = .05 * torch.randn(o)
conv("conv1", 10, 2); conv("conv2", 14, 10)
w["norm.weight"] = 1 + .1 * torch.randn(10); w["norm.bias"] = .1 * torch.randn(10)
w["fc1.weight"] = torch.randn(20, 14) * 14 ** -.5; w["fc1.bias"] = .1 * torch.randn(20)
w["fc2.weight"] = torch.randn(8, 20) * 20 ** -.5; w["fc2.bias"] = torch.zeros(8)
x = torch.randn(4, 6, 2, 32)
blob = {"w": w, "q": x + .3 * torch.randn_like(x), "k": x * (1 + .2 * torch.randn(4, 6, 1, 1)), "queue": torch.nn.functional.normalize(torch.randn(24, 8), dim=1)}
