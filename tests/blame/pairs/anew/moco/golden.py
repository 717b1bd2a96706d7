"""Momentum contrast on signals, after the authors' code."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
import weights


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(2, 10, 5, stride=2, padding=2)
        self.norm = nn.InstanceNorm1d(10, affine=True)
        self.conv2 = nn.Conv1d(10, 14, 5, stride=2, padding=2)
        self.fc1, self.fc2 = nn.Linear(14, 20), nn.Linear(20, 8)

    def forward(self, x):
        x = F.leaky_relu(self.norm(self.conv1(x)), 0.1)
        x = F.leaky_relu(self.conv2(x), 0.1).mean(-1)
        return self.fc2(F.relu(self.fc1(x)))


class MoCo(nn.Module):
    def __init__(self, weights, queue, m=0.9, T=0.2):
        super().__init__()
        self.m, self.T = m, T
        self.encoder_q = Encoder()
        self.encoder_q.load_state_dict(weights)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", queue.t().contiguous())
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.size(0)
        self.queue[:, self.ptr:self.ptr + n] = keys.t()
        self.ptr = (self.ptr + n) % self.queue.size(1)

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        self.enqueue(k)
        return logits, torch.zeros(logits.size(0), dtype=torch.long)


d = weights.blob
moco = MoCo(d["w"], d["queue"])
opt = torch.optim.SGD(moco.encoder_q.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-3)
for im_q, im_k in zip(d["q"], d["k"]):
    output, target = moco(im_q, im_k)
    loss = F.cross_entropy(output, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.7f}")
