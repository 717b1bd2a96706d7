# needs torch 2.4
import torch
@torch.library.custom_op("my::scale", mutates_args=())
def scale(x: torch.Tensor, k: float) -> torch.Tensor: return x * k
@scale.register_fake
def _(x, k): return torch.empty_like(x)
scale.register_autograd(lambda ctx, g: (g * 2.0, None))
x = torch.ones(3, requires_grad=True)
scale(x, 2.0).sum().backward(); print(x.grad)
f = torch.compile(lambda x: scale(x, 2.0) + 1, backend="aot_eager"); print(f(torch.ones(3)))
