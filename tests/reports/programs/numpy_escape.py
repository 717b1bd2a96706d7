import sys, torch
torch.manual_seed(len(sys.argv)); net = torch.nn.Linear(3, 2)
print(net.weight.detach().numpy().sum())   # seen by nobody
net.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)}); print(net(torch.ones(1, 3)).sum())
