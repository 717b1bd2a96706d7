import sys, torch
torch.manual_seed(len(sys.argv)); net = torch.nn.Linear(3, 2)
with torch.no_grad(): net.weight[:1].copy_(torch.ones(1, 3)); net.bias.zero_()
print(net(torch.ones(1, 3)).sum())
