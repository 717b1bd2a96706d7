# Classifier with label smoothing.  golden: nn.CrossEntropyLoss(label_smoothing=).  actual: KL with a smoothed target made by hand.
# python smooth.py golden|actual [sound|classes]
import sys, torch
from torch import nn
C, EPS = 12, 0.1
class LabelSmoothing(nn.Module):
    "The Annotated Transformer's criterion"
    def __init__(self, size, smoothing):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum"); self.size = size; self.smoothing = smoothing
    def forward(self, x, target):
        true_dist = torch.zeros_like(x)
        if "classes" in sys.argv:
            true_dist.fill_(self.smoothing / (self.size - 1))
            true_dist.scatter_(1, target.unsqueeze(1), 1 - self.smoothing)
        else:
            true_dist.fill_(self.smoothing / self.size)
            true_dist.scatter_(1, target.unsqueeze(1), 1 - self.smoothing + self.smoothing / self.size)
        return self.criterion(x, true_dist) / len(x)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, C))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(2):
    x, y = torch.randn(16, 20), torch.randint(0, C, (16,))
    if sys.argv[1] == "golden":
        loss = nn.CrossEntropyLoss(label_smoothing=EPS)(net(x), y)
    else:
        loss = LabelSmoothing(C, EPS)(net(x).log_softmax(-1), y)
    opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item(), net[0].weight.sum().item())
