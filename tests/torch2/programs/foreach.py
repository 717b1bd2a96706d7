# needs torch 2.0
import torch
torch.manual_seed(0)
for kw in (dict(foreach=True), dict(fused=True)):
    m = torch.nn.Linear(4, 4); o = torch.optim.AdamW(m.parameters(), **kw)
    for i in range(2):
        m(torch.randn(2, 4)).sum().backward(); o.step(); o.zero_grad()
    print(m.weight.sum())
