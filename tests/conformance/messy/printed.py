"""What the programs of this folder print of themselves: everything that a recorder could have changed.

A program does its work inside `with watched():`, which is nothing, or the dumper if the variable asks for it.
"""

import contextlib
import hashlib
import json
import os
import random
import sys

import numpy as np
import torch

random.seed(0)
np.random.seed(0)


def watched():
    options = os.environ.get("MESSY_DUMPER")
    if not options:
        return contextlib.nullcontext()
    from opdump.dumper import dumper

    return dumper(**json.loads(options))


def digest(value):
    """A short text that is another one if a bit of any tensor in `value` is."""
    if isinstance(value, torch.Tensor):
        kind = f"{value.dtype} {tuple(value.shape)} {value.layout} "
        value = value.detach().rename(None) if value.has_names() else value.detach()
        if value.layout is not torch.strided:
            value = value.to_dense()
        if value.is_quantized:
            value = value.int_repr()
        value = value.resolve_conj().resolve_neg()
        if value.dtype is torch.bfloat16:
            value = value.float()
        return kind + hashlib.sha1(value.contiguous().clone().numpy().tobytes()).hexdigest()[:12]
    if isinstance(value, torch.nn.Module):
        return digest(list(value.state_dict().values()) + [p.grad for p in value.parameters()])
    text = repr(value)
    if isinstance(value, (list, tuple)):
        text = "[" + ", ".join(digest(item) for item in value) + "]"
    return text if len(text) < 2000 else hashlib.sha1(text.encode()).hexdigest()


def show(name, *values):
    print(name, *(digest(value) for value in values), flush=True)


def show_state():
    """The process, as far as a recorder might touch it."""
    show("random", torch.get_rng_state(), random.getstate()[1], np.random.get_state()[1].tolist())
    show("torch", torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads(), torch.is_inference_mode_enabled())
    sys.stdout.flush()


def show_error(name, body):
    """The exception that `body` ends with."""
    try:
        body()
        show(name, "no exception")
    except Exception as error:  # whatever it is, it is printed
        show(name, type(error).__name__, str(error).splitlines()[0])


class Net(torch.nn.Module):
    """A few layers of different kinds."""

    def __init__(self, width=6):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Dropout(0.2))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.norm(self.body(x)))


def train(model, steps=2, make=lambda: torch.randn(5, 4), optimizer=None):
    """Tells each loss, and the model at the end."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(make()).square().mean()
        loss.backward()
        optimizer.step()
        show("loss", loss)
    show("model", model)
