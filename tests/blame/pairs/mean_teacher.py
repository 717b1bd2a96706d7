"""Mean teacher for semi-supervised audio classification. `actual` is the refactored EMA helper."""
import copy, sys
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpecNet(nn.Module):
    def __init__(self, mels=12, hid=16, classes=5):
        super().__init__()
        self.conv1 = nn.Conv1d(mels, hid, 3, padding=1)
        self.bn1 = nn.BatchNorm1d(hid, momentum=0.3)
        self.conv2 = nn.Conv1d(hid, hid, 3, padding=1, groups=4)
        self.bn2 = nn.BatchNorm1d(hid, momentum=0.3)
        self.att = nn.Linear(hid, 1)
        self.cls = nn.Linear(hid, classes)

    def forward(self, spec):
        h = F.relu(self.bn1(self.conv1(spec)))
        h = F.relu(self.bn2(self.conv2(h))) + h
        h = h.transpose(1, 2)
        w = torch.softmax(self.att(torch.tanh(h)), dim=1)
        return self.cls((w * h).sum(1))


class ModelEma:
    """old helper: parameters and buffers"""
    def __init__(self, student, alpha):
        self.teacher = copy.deepcopy(student).eval().requires_grad_(False)
        self.alpha = alpha

    @torch.no_grad()
    def step(self, student):
        for t, s in zip(self.teacher.parameters(), student.parameters()):
            t.mul_(self.alpha).add_(s, alpha=1 - self.alpha)
        for t, s in zip(self.teacher.buffers(), student.buffers()):
            t.copy_(s)


class ModelEmaV2(ModelEma):
    """lerp instead of mul/add"""
    @torch.no_grad()
    def step(self, student):
        for t, s in zip(self.teacher.parameters(), student.parameters()):
            t.lerp_(s, 1 - self.alpha)


def main(kind):
    torch.manual_seed(21)
    student = SpecNet()
    ema = (ModelEmaV2 if kind == "actual" else ModelEma)(student, 0.8)
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    g = torch.Generator().manual_seed(2)
    for it in range(3):
        labeled = torch.randn(6, 12, 10, generator=g) * 1.5 + 0.5
        target = torch.randint(0, 5, (6,), generator=g)
        unlabeled = torch.randn(6, 12, 10, generator=g) * 1.5 + 0.5
        noisy = unlabeled + 0.1 * torch.randn(6, 12, 10, generator=g)
        student.train()
        sup = F.cross_entropy(student(labeled), target)
        with torch.no_grad():
            pseudo = ema.teacher(unlabeled).softmax(-1)
        cons = F.mse_loss(student(noisy).softmax(-1), pseudo)
        loss = sup + 2.0 * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.step(student)
        print(it, sup.item(), cons.item())
    with torch.no_grad():
        probs = ema.teacher(unlabeled).softmax(-1)
    print("RESULT", loss.item(), probs.double().pow(2).sum().item())


main(sys.argv[1] if len(sys.argv) > 1 else "golden")
