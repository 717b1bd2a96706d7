# needs torch 2.0
import torch, torch.nn.functional as F
torch.manual_seed(0)
q = torch.randn(2, 2, 6, 8, requires_grad=True)
y = F.scaled_dot_product_attention(q, q, q, is_causal=True); y.sum().backward(); print(q.grad.sum())
