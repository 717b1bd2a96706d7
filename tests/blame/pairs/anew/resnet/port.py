# ResNet without modules: a dict of arrays in, a dict of arrays out.
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

BUG = "".join(sys.argv[1:])
STAGES = [("layer1.0", 1), ("layer1.1", 1), ("layer2.0", 2), ("layer2.1", 1)]


def read_checkpoint():
    weights, stats = OrderedDict(), OrderedDict()
    for k, t in torch.load("init.pt").items():
        if k.endswith("num_batches_tracked"):
            continue
        (stats if "running" in k else weights)[k] = t.clone()
    return weights, stats


def bn(x, name, W, S, training):
    if training:
        n = x.numel() // x.shape[1]
        mean = x.mean(dim=(0, 2, 3))
        var = ((x - mean[None, :, None, None]) ** 2).mean(dim=(0, 2, 3))
        with torch.no_grad():
            keep = 0.99 if BUG == "fault1" else 0.9  # FAULT1 (decision): the momentum of Keras
            S[name + ".running_mean"] = keep * S[name + ".running_mean"] + (1 - keep) * mean  # FAULT1 (operator)
            S[name + ".running_var"] = keep * S[name + ".running_var"] + (1 - keep) * var * (n / (n - 1))
    else:
        mean, var = S[name + ".running_mean"], S[name + ".running_var"]
    scale = W[name + ".weight"] / torch.sqrt(var + 1e-5)
    shift = W[name + ".bias"] - mean * scale
    return x * scale.view(1, -1, 1, 1) + shift.view(1, -1, 1, 1)


def residual(x, name, stride, W, S, training):
    y = F.conv2d(x, W[name + ".conv1.weight"], stride=stride, padding=1)
    y = torch.clamp(bn(y, name + ".bn1", W, S, training), min=0)
    y = bn(F.conv2d(y, W[name + ".conv2.weight"], padding=1), name + ".bn2", W, S, training)
    if name + ".downsample.0.weight" in W:
        x = bn(F.conv2d(x, W[name + ".downsample.0.weight"], stride=stride), name + ".downsample.1", W, S, training)
    if BUG == "fault2":
        return x + torch.clamp(y, min=0)  # FAULT2: relu before the sum
    return torch.clamp(x + y, min=0)


def predict(x, W, S, training):
    x = torch.clamp(bn(F.conv2d(x, W["conv1.weight"], padding=1), "bn1", W, S, training), min=0)
    for name, stride in STAGES:
        x = residual(x, name, stride, W, S, training)
    return x.mean(dim=(2, 3)) @ W["fc.weight"].t() + W["fc.bias"]


def cross_entropy(logits, labels):
    onehot = F.one_hot(labels, logits.shape[1]).float()
    return -(onehot * logits.log_softmax(1)).sum(1).mean()


rng = np.random.default_rng(2)
labels = rng.integers(0, 5, 96)
pixels = (rng.standard_normal((96, 3, 16, 16)) + 0.5 * labels[:, None, None, None] * np.linspace(-1, 1, 16)).astype("float32")
pixels, labels = torch.tensor(pixels), torch.tensor(labels)

W, S = read_checkpoint()
velocity = {}
for i in range(4):
    part = slice(16 * i, 16 * (i + 1))
    leaves = OrderedDict((k, w.detach().requires_grad_()) for k, w in W.items())
    loss = cross_entropy(predict(pixels[part], leaves, S, True), labels[part])
    for (k, w), g in zip(leaves.items(), torch.autograd.grad(loss, tuple(leaves.values()))):
        w = w.detach()
        g = g + 5e-4 * w
        velocity[k] = g if k not in velocity else 0.9 * velocity[k] + g
        W[k] = w - 0.05 * velocity[k]
    print("iteration %d: %.7f" % (i, loss))
with torch.no_grad():
    logits = predict(pixels[64:], W, S, False)
    print("evaluation: %.7f, %d right" % (cross_entropy(logits, labels[64:]), (logits.max(1)[1] == labels[64:]).sum()))
