import sys, torch
torch.manual_seed(len(sys.argv)); net = torch.nn.Linear(4, 4)
head = net.weight[:2]
total = head.sum()          # read through a slice
net.load_state_dict({"weight": torch.ones(4, 4), "bias": torch.zeros(4)}); print(net(torch.ones(1, 4)).sum(), total)
