"""Copies tensors of many dtypes on the device, and prints how often it waited for the device."""
import late
import torch

torch.manual_seed(0)
dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64, torch.complex64]
tensors = [(torch.randn(33, 40) * 50).to(dtype) for dtype in dtypes]
for number in (float("inf"), -float("inf"), float("nan")):
    tensors.append(torch.randn(8).index_fill_(0, torch.tensor([3]), number))
tensors.append(torch.full((3,), 40000.0, dtype=torch.float16))
tensors.append(torch.ones(0, 3))
tensors = [tensor.to("late") for tensor in tensors]
before = late.waits()
for tensor in tensors:
    tensor.clone()
    tensor[::2].clone()
with torch.inference_mode():
    (tensors[8] + 1).t().clone()
print("waited", late.waits() - before)
print(torch.randn(3))
