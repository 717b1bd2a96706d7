# Evaluation of a model and of its averaged copy (torch.optim.swa_utils), which has seen no update.
import sys, torch
wrapped, bug = "wrap" in sys.argv, "bug" in sys.argv
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
x = torch.randn(2, 3, 8, 8)
net.train(bug)
if wrapped: net = torch.optim.swa_utils.AveragedModel(net); net.train(bug)
with torch.no_grad(): print(net(x).softmax(-1))
