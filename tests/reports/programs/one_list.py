# Gives all parameters to one foreach optimizer, sorted by name or in reverse; gradients are kept and zeroed.
import sys, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Embedding(9, 8), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
named = dict(net.named_parameters())
order = sorted(named, reverse=True) if "order" in sys.argv else sorted(named)
opt = torch.optim.Adam([named[n] for n in order], 0.01, betas=(0.9, 0.99 if "bug" in sys.argv else 0.999), foreach=True, amsgrad="ams" in sys.argv)
for _ in range(3):
    opt.zero_grad(set_to_none=False)
    net(torch.randint(0, 9, (5,))).logsumexp(-1).sum().backward()
    opt.step()
