"""What may fool rules that excuse or move the blame: `doubts.py PAIR` and `doubts.py PAIR actual`, with a fault in actual if PAIR ends in
`_fault`."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(3)
x, y = torch.randn(12, 8), torch.randn(12, 2)
first, second = nn.Linear(8, 8), nn.Linear(8, 2)

if kind == "noise":  # drawn by one run alone: for nothing, or for data that NumPy changes
    if actual:
        noise = torch.rand(12, 8, generator=torch.Generator().manual_seed(1)).numpy()
        if fault:
            x.numpy()[:] += 0.1 * noise
    print(second(torch.relu(first(x))).sum().item())
elif kind == "small":  # a step so small that the weights agree, and gradients by other operators
    net = nn.Sequential(first, nn.ReLU(), second)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-9)
    for _ in range(2):
        optimizer.zero_grad()
        h = torch.relu(first(x))
        weight = second.weight.detach() if fault else second.weight
        out = torch.einsum("bi,oi->bo", h, 0.5 * weight + 0.5 * second.weight) + second.bias if actual else second(h)
        F.mse_loss(out, y).backward()
        optimizer.step()
elif kind == "shared":  # one bias for two layers of a port, with other names
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.end = first, nn.Linear(8, 8, bias=False), second

        def forward(self, x):
            h = torch.tanh(F.linear(x, self.a.weight) if fault else self.a(x))
            return self.end(torch.tanh(self.b(h) + self.a.bias))

    class Port(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.encoder, self.layer, self.head = net.a, net.b, net.end
            self.net = [net]

        def forward(self, x):
            return self.net[0].forward(x)

    net = Net()
    print((Port(net) if actual else net)(x).pow(2).mean().item())
elif kind == "sorted":  # rows are sorted inside a part; the fault is an operator in there
    order = x[:, 0].argsort()
    h = first(x[order] if actual else x)
    h = torch.relu(h) if not fault else F.leaky_relu(h, 0.2)
    h = h[order.argsort()] if actual else h
    print(F.mse_loss(second(h), y).item())
elif kind == "picked":  # the tensors of a batch are picked in another order, whole numbers among them
    tensors = {"x": torch.randn(20, 8), "labels": torch.randint(0, 2, (20,)), "weight": torch.rand(20), "next": torch.randn(20, 8),
               "last": (torch.rand(20) < 0.3).float()}
    rows = torch.randperm(20)[:6]
    picked = {key: tensors[key][rows] for key in (["next", "last", "x", "labels", "weight"] if actual else tensors)}
    if fault:
        picked["last"] = tensors["last"][rows.flip(0)]
    loss = F.cross_entropy(second(torch.tanh(first(picked["x"]))), picked["labels"], reduction="none") * picked["weight"]
    with torch.no_grad():
        value = second(torch.tanh(first(picked["next"]))).amax(1) * (1 - picked["last"])
    print((loss + value).mean().item())
elif kind == "zeros":  # an optimizer of PyTorch 1.13 makes zeros that nothing reads, beside those of the program
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        shift = torch.zeros(8) if actual else first.bias.new_zeros(8)
        F.mse_loss(second(torch.tanh(first(x) + shift + (0.1 if fault else 0))), y).backward()
        if actual:
            with torch.no_grad():
                for p in (*first.parameters(), *second.parameters()):
                    p -= 0.1 * p.grad
        else:
            optimizer.step()
    print(second.weight.norm().item())
