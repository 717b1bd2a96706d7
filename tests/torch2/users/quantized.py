"""A trained model made small: dynamic quantization of its linear layers, and 8-bit tensors by hand."""

import warnings

import fingerprint
import torch
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(20)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
small = torch.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
x = torch.randn(3, 8)
print(fingerprint.of(small(x)), (small(x) - model(x)).abs().max().item() < 0.2)
coded = torch.quantize_per_tensor(x, 0.05, 0, torch.qint8)
print(coded.int_repr().sum().item(), fingerprint.of(coded.dequantize()))
