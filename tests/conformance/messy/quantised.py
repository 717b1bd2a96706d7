"""Quantised tensors and modules, fake quantisation."""

import torch
from printed import *

torch.manual_seed(0)
torch.backends.quantized.engine = "qnnpack"
with watched():
    q = torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 10, torch.quint8)
    show("tensor", q, q.dequantize(), torch.nn.functional.relu(q))
    c = torch.quantize_per_channel(torch.randn(3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.zeros(3, dtype=torch.long), 0, torch.qint8)
    show("channels", c, c.q_per_channel_scales())
    dynamic = torch.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(4, 5)), dtype=torch.qint8)
    show("dynamic", dynamic(torch.randn(2, 4)))
    x = torch.randn(4, requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127).sum().backward()
    show("fake", x.grad)
show_state()
