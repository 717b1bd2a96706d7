# A Keras model ported: BatchNorm momentum 0.9 there is 0.1 here.   python momentum.py golden|actual momentum
import sys, torch, torch.nn as nn
class Cnn(nn.Module):
    def __init__(s, mom):
        super().__init__()
        s.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, momentum=mom, eps=1e-3), nn.ReLU(),
                                   nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16, momentum=mom, eps=1e-3), nn.ReLU())
        s.classifier = nn.Linear(16, 4)
    def forward(s, x): return s.classifier(s.features(x).mean([2, 3]))
torch.manual_seed(0)
m = Cnn(0.1 if sys.argv[1] == "golden" else 0.9)
o = torch.optim.SGD(m.parameters(), lr=0.01)
g = torch.Generator().manual_seed(1)
for i in range(3):
    x, y = torch.randn(8, 3, 14, 14, generator=g) * (i + 1), torch.randint(0, 4, (8,), generator=g)
    l = nn.functional.cross_entropy(m(x), y); o.zero_grad(); l.backward(); o.step(); print(l.item())
m.eval()
with torch.no_grad(): print("val", m(torch.randn(4, 3, 14, 14, generator=g)).sum().item())
