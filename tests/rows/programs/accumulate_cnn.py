"""A classifier of images with a batch norm, with gradient accumulation: accumulate_cnn.py [micro=2] [groups] [fault=momentum]"""
import sys
import torch
from torch import nn

args = dict(a.partition("=")[::2] for a in sys.argv[1:])
micro = int(args.get("micro", 1))
torch.manual_seed(2)
norm = nn.GroupNorm(2, 8) if "groups" in args else nn.BatchNorm2d(8)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), norm, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8 if args.get("fault") == "momentum" else 0.9)
images, labels = torch.randn(2, 6, 3, 8, 8), torch.randint(0, 5, (2, 6))
for epoch in range(2):
    total = 0.0
    for x, y in zip(images[epoch].split(6 // micro), labels[epoch].split(6 // micro)):
        loss = nn.functional.cross_entropy(model(x), y) / micro
        loss.backward()
        total += loss.item()
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(total)
