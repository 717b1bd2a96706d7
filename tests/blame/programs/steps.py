"""What a program does between two updates, where an optimizer of the framework updates the weights of golden, and a loop of its own those
of actual: `steps.py PAIR` and `steps.py PAIR actual`, with a fault in actual if PAIR ends in `_fault`."""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")
torch.manual_seed(12)


def step(net, optimizer, rate=0.1):
    if not actual:
        optimizer.step()
        return
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(rate * p.grad)


def network():
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))


def target():  # weights that follow the trained ones, after each step
    net = network()
    slow, optimizer = copy.deepcopy(net), torch.optim.SGD(net.parameters(), lr=0.1)
    x, reward = torch.randn(4, 8, 6), torch.randn(4, 8)
    for i in range(4):
        value = net(x[i]).amax(1)
        with torch.no_grad():
            wanted = reward[i] + 0.9 * slow(x[i]).amax(1)
        loss = F.mse_loss(value, wanted)
        net.zero_grad()
        loss.backward()
        step(net, optimizer)
        with torch.no_grad():
            for p, s in zip(net.parameters(), slow.parameters()):
                s.mul_(0.8 if fault else 0.9).add_(p, alpha=0.1)
        print(f"{loss.item():.6f}")


def drawn():  # each step draws its data, and prints what the last one has reached
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 6) * (1.5 if fault else 1)
        loss = net(x / x.norm()).square().sum()
        net.zero_grad()
        loss.backward()
        step(net, optimizer)
        print(f"{loss.item():.6f} {sum(p.abs().sum().item() for p in net.parameters()):.5f}")


def validated():  # the model is called twice in each step, and once more after the last one
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y, held = torch.randn(3, 8, 6), torch.randint(0, 3, (3, 8)), torch.randn(10, 6)
    for i in range(3):
        loss = F.cross_entropy(net(x[i]), y[i])
        net.zero_grad()
        loss.backward()
        step(net, optimizer, 0.12 if fault else 0.1)
        with torch.no_grad():
            print(f"{loss.item():.6f} {net(held).softmax(1).amax(1).mean().item():.6f}")


def once():  # a single update, of which only what follows it tells
    net = network()
    optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 6)
    net(x).square().mean().backward()
    step(net, optimizer, 0.11 if fault else 0.1)
    print(f"{net(x).sum().item():.6f}")


def functional():  # without a module
    w, b = torch.randn(6, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        loss = ((x @ w + b).sigmoid() - 0.5).square().mean() * (2 if fault else 1)
        loss.backward()
        if actual:
            with torch.no_grad():
                for p in (w, b):
                    p -= 0.1 * p.grad
        else:
            optimizer.step()
        print(f"{loss.item():.6f} {w.detach().norm().item():.6f}")
        w.grad = b.grad = None


def scheduled():  # Adam by hand, its rate from a schedule, gradients that are clipped
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: 1 / (i + 1))
    state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in net.parameters()]
    for i in range(3):
        loss = net(torch.randn(8, 6)).square().mean()
        net.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.3)
        if actual:
            with torch.no_grad():
                for p, (m, v) in zip(net.parameters(), state):
                    m.mul_(0.9).add_(p.grad, alpha=0.1)
                    v.mul_(0.99 if fault else 0.999).addcmul_(p.grad, p.grad, value=0.001)
                    mean, square = m / (1 - 0.9 ** (i + 1)), v / (1 - 0.999 ** (i + 1))
                    p.sub_(0.02 / (i + 1) * mean / (square.sqrt() + 1e-8))
        else:
            optimizer.step()
            schedule.step()
        print(f"{i} {loss.item():.6f}")
    with torch.no_grad():
        print(net(torch.ones(2, 6)).flatten().tolist())


def long():  # sixty steps; the fault is another rate in one of them
    net = network()
    optimizer = None if actual else torch.optim.SGD(net.parameters(), lr=0.05)
    x = torch.randn(60, 8, 6)
    for i in range(60):
        loss = net(x[i]).square().mean()
        net.zero_grad()
        loss.backward()
        step(net, optimizer, 0.06 if fault and i == 50 else 0.05)
    print(f"{loss.item():.6f}")


def two():  # two optimizers, or two updates by hand
    maker, judge = nn.Linear(3, 6), network()
    optimizers = None if actual else [torch.optim.SGD(net.parameters(), lr=0.1) for net in (maker, judge)]
    z, real = torch.randn(3, 8, 3), torch.randn(3, 8, 6)
    for i in range(3):
        fake = maker(z[i])
        told = F.softplus(-judge(real[i])).mean() + F.softplus(judge(fake.detach() * (1.1 if fault else 1))).mean()
        judge.zero_grad()
        told.backward()
        step(judge, optimizers and optimizers[1])
        made = F.softplus(-judge(fake)).mean()
        maker.zero_grad()
        made.backward()
        step(maker, optimizers and optimizers[0])
        print(f"{told.item():.6f} {made.item():.6f}")


def forgotten():  # the fault: nothing updates the weights
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.randn(4, 8, 6):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if not fault:
            step(net, optimizer)
        print(f"{loss.item():.6f}")


class Adam(torch.optim.Optimizer):  # another one of the same name, with other operators
    def __init__(self, params, lr, weight_decay):
        super().__init__(params, {"lr": lr, "decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(count=0, mean=torch.zeros_like(p), square=torch.zeros_like(p))
                state["count"] += 1
                gradient = p.grad + group["decay"] * p
                state["mean"].lerp_(gradient, 0.1)
                state["square"].mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                mean = state["mean"] / (1 - 0.9 ** state["count"])
                square = state["square"] / (1 if fault else 1 - 0.999 ** state["count"])
                p.addcdiv_(mean, square.sqrt_().add_(1e-8), value=-group["lr"])


def subclass():
    net = network()
    optimizer = (Adam if actual else torch.optim.Adam)(net.parameters(), lr=0.01, weight_decay=0.01)
    x, y = torch.randn(6, 8, 6), torch.randint(0, 3, (6, 8))
    for data, labels in zip(x, y):
        loss = F.cross_entropy(net(data), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


{"target": target, "drawn": drawn, "validated": validated, "once": once, "functional": functional, "scheduled": scheduled,
 "subclass": subclass, "long": long, "two": two, "forgotten": forgotten}[kind]()
