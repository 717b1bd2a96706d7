import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


def make_anchors(n, stride):
    ys, xs = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    c = torch.stack([xs, ys], -1).reshape(-1, 2).float() * stride + stride / 2
    sizes = torch.tensor([[8., 8.], [12., 6.]])
    return torch.cat([c[:, None].expand(-1, 2, 2), sizes[None].expand(len(c), 2, 2)], -1).reshape(-1, 4)


def corners(b):
    return torch.cat([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


def iou(a, b):
    lt = torch.maximum(a[:, None, :2], b[None, :, :2])
    rb = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area = lambda z: (z[:, 2] - z[:, 0]) * (z[:, 3] - z[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter)


class Head(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.cls = nn.Conv2d(16, 2 * classes, 1)
        self.reg = nn.Conv2d(16, 2 * 4, 1)
        nn.init.constant_(self.cls.bias, -1.0)

    def forward(self, x):
        f = self.stem(x)
        n = x.size(0)
        cls = self.cls(f).permute(0, 2, 3, 1).reshape(n, -1, 3)
        reg = self.reg(f).reshape(n, -1, 4)
        return cls, reg


net = Head()
images = torch.rand(2, 3, 32, 32)
boxes = [torch.tensor([[9., 9., 8., 7.], [22., 20., 11., 7.]]), torch.tensor([[16., 12., 9., 9.]])]
labels = [torch.tensor([0, 2]), torch.tensor([1])]
anchors = make_anchors(8, 4)
opt = torch.optim.SGD(net.parameters(), 0.02, momentum=0.9)


def loss_of(cls, reg, gt, lab):
    overlap = iou(corners(anchors), corners(gt))
    best, which = overlap.max(1)
    which[overlap.argmax(0)] = torch.arange(len(gt))
    best[overlap.argmax(0)] = 1.0
    pos = best > 0.4
    target = torch.zeros_like(cls)
    target[pos] = F.one_hot(lab[which[pos]], 3).float()
    p = cls.sigmoid()
    ce = F.binary_cross_entropy_with_logits(cls, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    focal = ((0.25 * target + 0.75 * (1 - target)) * (1 - pt) ** 2 * ce).sum() / pos.sum()
    g, a = gt[which[pos]], anchors[pos]
    delta = torch.cat([(g[:, :2] - a[:, :2]) / a[:, 2:], (g[:, 2:] / a[:, 2:]).log()], 1)
    return focal + F.smooth_l1_loss(reg[pos], delta, beta=0.1)


for it in range(2):
    cls, reg = net(images)
    loss = sum(loss_of(c, r, g, l) for c, r, g, l in zip(cls, reg, boxes, labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, "%.6f" % loss.item())
