import sys
import torch
from collections import deque
from torch import nn
import weights

FAULT = "".join(sys.argv[1:])


def backbone():
    return nn.Sequential(
        nn.Conv1d(2, 10, 5, 2, 2), nn.GroupNorm(10, 10), nn.LeakyReLU(0.1),
        nn.Conv1d(10, 14, 5, 2, 2), nn.LeakyReLU(0.1),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        nn.Linear(14, 20), nn.ReLU(), nn.Linear(20, 8))


def unit(z):
    return z / z.norm(dim=-1, keepdim=True)


class Memory:
    """First in, first out, one entry a batch."""

    def __init__(self, rows, chunk):
        self.parts = deque(rows.split(chunk), maxlen=len(rows) // chunk)

    def push(self, keys):
        self.parts.append(keys.detach())

    def all(self):
        return torch.cat(tuple(self.parts))


class Learner:
    def __init__(self, blob):
        self.student, self.teacher = backbone(), backbone().requires_grad_(False)
        values = list(blob["w"].values())
        # conv1, conv2, norm, fc1, fc2 in the file
        order = values[0:2] + values[4:6] + values[2:4] + values[6:]
        for net in (self.student, self.teacher):
            for p, v in zip(net.parameters(), order):
                p.data.copy_(v)
        self.memory = Memory(blob["queue"], 6)
        self.opt = torch.optim.SGD(self.student.parameters(), 0.2, 0.9, weight_decay=1e-3, foreach=False)

    def step(self, a, b):
        z = unit(self.student(a))
        with torch.no_grad():
            for t, s in zip(self.teacher.parameters(), self.student.parameters()):
                if FAULT == "fault1":
                    t.lerp_(s, 0.9)  # FAULT1
                else:
                    t.lerp_(s, 1 - 0.9)
            key = unit(self.teacher(b))
        if FAULT == "fault2":
            self.memory.push(key)  # FAULT2
        positive = (z * key).sum(-1, keepdim=True)
        negative = z @ self.memory.all().T
        both = torch.cat((positive, negative), -1) / 0.2
        loss = (both.logsumexp(-1) - both[:, 0]).mean()
        if FAULT != "fault2":
            self.memory.push(key)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


blob = weights.blob
learner = Learner(blob)
for i in range(4):
    print("%.7f" % learner.step(blob["q"][i], blob["k"][i]))
