# A network on its own, and in a class that holds network and loss, as LightningModule does.
import sys, torch
wrapped, bug = "wrap" in sys.argv, "bug" in sys.argv
torch.manual_seed(0)
class Task(torch.nn.Module):
    def __init__(self, model): super().__init__(); self.model = model; self.loss = torch.nn.MSELoss()
    def forward(self, x, y): return self.loss(self.model(x), y)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
if bug: net[2].bias.data.add_(0.5)
x, y = torch.randn(5, 4), torch.randn(5, 1)
if wrapped: loss = Task(net)(x, y)
else: loss = torch.nn.functional.mse_loss(net(x), y)
loss.backward()
print(loss.item())
