import sys, torch
torch.manual_seed(len(sys.argv)); w = torch.empty(4, 4).normal_().mul_(0.02).clamp_(-.03, .03)
w.copy_(torch.ones(4, 4)); x = torch.arange(8.).view(2, 4) @ w
print(torch.nn.functional.layer_norm(x, (4,), eps=1e-1 if "fault" in sys.argv[1:] else 1e-5).sum())
