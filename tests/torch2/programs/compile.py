# needs torch 2.1
import torch
torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
o = torch.optim.SGD(m.parameters(), lr=.1)
c = torch.compile(m)
for i in range(3):
    x = torch.randn(5 + i, 8)
    loss = c(x).square().mean(); loss.backward(); o.step(); o.zero_grad()
    print(i, loss.item())
