"""More pairs in which a shape changes, or what runs after the last step: `shapes_too.py PAIR` is golden, `shapes_too.py PAIR actual` the other run."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

actual = sys.argv[2:] == ["actual"]
torch.manual_seed(0)


def saves_one_column_more():  # nothing computes with what is saved
    with torch.no_grad():
        y = nn.Linear(6, 8)(torch.randn(4, 6)).relu()
        kept = y[:, :4 if actual else 3].clone()  # <- saves_one_column_more
    print(tuple(kept.shape))


def rounded_up():  # a mean over the map hides that the map is larger
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=actual), nn.Conv2d(4, 4, 1))
    print(net(torch.randn(2, 1, 9, 9)).mean((2, 3)).sum())


def best_five():
    scores = nn.Linear(6, 10)(torch.randn(8, 6)).softmax(-1)
    best = scores.topk(5 if actual else 3).indices  # <- best_five
    print((best == torch.arange(8)[:, None]).any(1).float().mean())


def batch_of_one():  # squeeze() takes the batch away, too; nothing follows that could tell
    logits = nn.Linear(6, 5)(torch.randn(1, 6))
    print(logits.squeeze().softmax(-1) if actual else logits.softmax(-1)[0])


def heads_kept_apart():  # (batch, heads, time, width) all along, or merged and taken apart again
    q = torch.randn(2, 3, 4, 6)
    if actual:
        flat = q.reshape(6, 4, 6)
        att = torch.bmm(flat, flat.transpose(1, 2)).softmax(-1).reshape(2, 3, 4, 4)
    else:
        att = (q @ q.transpose(2, 3)).softmax(-1)
    print((att * torch.arange(4.0)).sum())


def train_two_steps():
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(16, 6)).square().mean().backward()
        opt.step()
    return net, torch.randn(3, 4, 6)


def exported_in_four_bits():
    net, _ = train_two_steps()
    with torch.no_grad():
        state = {k: torch.round(v / (v.abs().max() / (7 if actual else 127))).to(torch.int8)  # <- exported_in_four_bits
                 for k, v in net.state_dict().items()}
    print(len(state))


def more_batches_one_brighter():  # actual evaluates three batches for two, and the second one has been changed
    net, batches = train_two_steps()
    net.eval()
    with torch.no_grad():
        for i, batch in enumerate(batches[:3 if actual else 2]):
            if actual and i == 1:
                batch = batch * 1.5  # <- more_batches_one_brighter
            out = net(batch).softmax(-1)
    print(out.shape)


def dropout_in_evaluation():
    net, batches = train_two_steps()
    net.train(actual)
    with torch.no_grad():
        print(F.log_softmax(net(batches[0]), -1).mean())


def evaluated_at_once():  # the same three batches, one by one or as one
    net, batches = train_two_steps()
    net.eval()
    with torch.no_grad():
        out = net(batches.flatten(0, 1)) if actual else torch.cat([net(batch) for batch in batches])
        print(out.argmax(1).sum())


globals()[sys.argv[1]]()
