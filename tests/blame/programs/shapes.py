"""Pairs in which a shape changes: `shapes.py PAIR` is golden, `shapes.py PAIR actual` the other run."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)


def step(net, loss):
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())


def keepdim_loss():  # a VAE's reconstruction error, weighted per sample
    net, x, weight = nn.Linear(6, 6), torch.randn(5, 6), torch.rand(5)
    error = (net(x) - x).pow(2)
    error = error.sum(1, keepdim=actual)  # <- keepdim_loss
    step(net, (error * weight).mean())


def target_without_axis():  # predictions (8, 1), targets (8)
    net, x = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)), torch.randn(8, 3)
    pred, target = net(x), torch.randn(8)
    if not actual:
        pred = pred.squeeze(-1)
    step(net, F.smooth_l1_loss(pred, target))  # <- target_without_axis


def padding_forgotten():  # global pooling hides that the maps are smaller
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(8)
            self.conv2 = nn.Conv2d(8, 8, 3, padding=0 if actual else 1, bias=False)
            self.fc = nn.Linear(8, 4)

        def forward(self, x):
            x = F.relu(self.bn1(self.conv1(x)))
            x = self.conv2(x)  # <- padding_forgotten
            return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))

    net = Block()
    step(net, F.cross_entropy(net(torch.randn(4, 3, 8, 8)), torch.tensor([0, 1, 2, 3])))


def mean_over_batch():  # the LSTM's outputs are (batch, time, features)
    emb, lstm = nn.Embedding(20, 8), nn.LSTM(8, 12, batch_first=True)
    out, _ = lstm(emb(torch.randint(0, 20, (4, 7))))
    pooled = out.mean(0 if actual else 1)  # <- mean_over_batch
    loss = torch.tanh(pooled).pow(2).mean()
    step(lstm, loss)


def crop_the_context():  # a language model that loses the first position of each row
    emb, head = nn.Embedding(11, 8), nn.Linear(8, 11)
    tokens = torch.randint(0, 11, (3, 9))
    x, y = tokens[:, :-1], tokens[:, 1:]
    logits = head(emb(x))
    if actual:
        logits, y = logits[:, 1:], y[:, 1:]  # <- crop_the_context
    step(head, F.cross_entropy(logits.reshape(-1, 11), y.reshape(-1)))


def flatten_or_view():
    emb, head = nn.Embedding(11, 8), nn.Linear(8, 11)
    tokens = torch.randint(0, 11, (3, 9))
    logits, y = head(emb(tokens[:, :-1])), tokens[:, 1:]
    if actual:
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    else:
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.reshape(-1))
    step(head, loss)


def image_without_batch():  # one image as (3, 8, 8) or as a batch of one
    net = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 3))
    image = torch.randn(3, 8, 8)
    out = net(image[None])[0] if actual else net(image)
    step(net, out.pow(2).mean())


def scale_of_a_channel():  # (1, C, 1, 1) or (C, 1, 1)
    conv, gamma = nn.Conv2d(3, 6, 3), nn.Parameter(torch.rand(6))
    x = conv(torch.randn(2, 3, 6, 6))
    x = x * (gamma.view(1, 6, 1, 1) if actual else gamma.view(6, 1, 1))
    step(conv, x.relu().mean())


def padded_to_eight():  # the collate function pads to a multiple of eight; the loss ignores what is padded
    emb, head = nn.Embedding(11, 8), nn.Linear(8, 11)
    rows = [torch.randint(1, 11, (n,)) for n in (6, 4, 5)]
    length = 8 if actual else 6
    x, y = torch.zeros(3, length, dtype=torch.long), torch.full((3, length), -100)
    for i, row in enumerate(rows):
        x[i, :len(row)], y[i, :len(row)] = row, row.flip(0)
    step(head, F.cross_entropy(head(emb(x)).view(-1, 11), y.view(-1)))


def squeezed_later():
    net, x, y = nn.Linear(5, 1), torch.randn(6, 5), torch.rand(6).round()
    if actual:
        loss = F.binary_cross_entropy_with_logits(net(x), y.unsqueeze(1))
    else:
        loss = F.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
    step(net, loss)


globals()[sys.argv[1]]()
