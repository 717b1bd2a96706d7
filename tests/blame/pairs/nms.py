# Detector head: boxes decoded, non-maximum suppression, pooled features of the boxes that stay.
# golden: torchvision batched_nms on sigmoid scores.  actual: NMS by hand on logits (same order, so the same choice);
# fault: classes are not kept apart.      python nms.py golden|actual [sound|classes]
import sys
import torch
from torch import nn
from torchvision.ops import batched_nms, box_iou

class Head(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.cls, self.reg = nn.Linear(16, classes), nn.Linear(16, 4)
        self.embed = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
    def pick(self, boxes, logits):
        scores, label = logits.sigmoid().max(-1)
        return batched_nms(boxes, scores, label, 0.5)
    def forward(self, anchors, feats):
        logits, delta = self.cls(feats), self.reg(feats)
        size = anchors[:, 2:] - anchors[:, :2]
        centre = anchors[:, :2] + size / 2 + delta[:, :2] * size * 0.1
        size = size * (delta[:, 2:] * 0.2).exp()
        boxes = torch.cat([centre - size / 2, centre + size / 2], 1)
        keep = self.pick(boxes, logits)[:8]
        return boxes[keep], logits[keep].softmax(-1), self.embed(feats[keep])

class HandHead(Head):
    def pick(self, boxes, logits):
        best, label = logits.max(-1)
        order = best.argsort(descending=True)
        iou = box_iou(boxes, boxes)
        if "classes" not in sys.argv:
            iou = iou * (label[:, None] == label[None])
        keep = []
        for i in order.tolist():
            if all(iou[i, j] <= 0.5 for j in keep):
                keep.append(i)
        return torch.tensor(keep)

torch.manual_seed(2)
head = (Head if sys.argv[1] == "golden" else HandHead)().eval()
corner = torch.rand(24, 2) * 20
anchors = torch.cat([corner, corner + 10 + torch.rand(24, 2) * 6], 1)
feats = torch.randn(24, 16)
with torch.no_grad():
    boxes, probs, vec = head(anchors, feats)
print(len(boxes), boxes.sum().item(), vec.sum().item())
