import sys, torch
import torch.nn.functional as F
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
sgd, adam = torch.optim.SGD, torch.optim.Adam
make = {"sgd0": lambda p: sgd(p, 0.1, 0.9), "sgd": lambda p: sgd(p, 0.1, 0.9, weight_decay=0.01), "adam0": lambda p: adam(p, 0.01),
        "adam": lambda p: adam(p, 0.01, weight_decay=0.01), "adamw": lambda p: torch.optim.AdamW(p, 0.01)}
opt = make[sys.argv[2]](net.parameters())
loss = eval("lambda p, y: " + sys.argv[1], {"F": F})
for _ in range(2):
    x, y = torch.randn(6, 4), torch.randn(6)
    opt.zero_grad()
    loss(net(x), y).backward()
    opt.step()
