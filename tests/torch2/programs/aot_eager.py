# needs torch 2.1
import torch
torch.manual_seed(0)
@torch.compile(backend="aot_eager")
def f(x): return (x.sin() + x.cos()).sum()
x = torch.randn(4, requires_grad=True)
f(x).backward(); print(x.grad)
