"""Runs resumed in a new process: `resumed.py PAIR` is golden, which trains without a break, `resumed.py PAIR actual` goes on from a checkpoint of it,
with a fault if PAIR ends in `_fault`."""

import copy
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
STEPS, BREAK = 5, 2


def train(make, data, update):
    """Golden trains all steps. The other run goes on where another process stopped, which nobody records."""
    state = first_process() if actual and data is not late else {}
    torch.manual_seed(0)
    parts = make()
    load(parts, state)
    for i in range(BREAK if state else 0, STEPS):
        update(parts, data(i))


def first_process():
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if "OPDUMP" not in key and key != "PYTHONPATH"}
        subprocess.run([sys.executable, __file__, name, "save", f"{folder}/state.pt"], env=environment, check=True)
        return torch.load(f"{folder}/state.pt")


def load(parts, state):
    for key in state:
        if not (fault and key == LOST.get(name)):
            parts[key].load_state_dict(state[key])


LOST = {"adam_fault": "optimizer", "schedule_fault": "scheduler", "average_fault": "average"}


def batch(i):
    generator = torch.Generator().manual_seed(100 + i)
    return torch.randn(8, 12, generator=generator), torch.randint(0, 4, (8,), generator=generator)


def epochs(i):  # of three batches, the same in each
    return batch(i % 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(12, 24), nn.BatchNorm1d(24), nn.Linear(24, 4)

    def forward(self, x):
        return self.last(torch.tanh(self.norm(self.first(x))))


def adam():
    model = Net()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=1e-2)}


def schedule():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return {"model": model, "scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch), "optimizer": optimizer}


def average():
    model = Net()
    return {"model": model, "average": copy.deepcopy(model), "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-2)}


def step(parts, data):
    x, y = data
    parts["optimizer"].zero_grad()
    loss = nn.functional.cross_entropy(parts["model"](x), y)
    loss.backward()
    parts["optimizer"].step()
    if "scheduler" in parts:
        parts["scheduler"].step()
    if "average" in parts:
        with torch.no_grad():
            for kept, now in zip(parts["average"].parameters(), parts["model"].parameters()):
                kept.lerp_(now, 0.1)
            print(float(parts["average"](x).sum()))
    print(float(loss))


def skipped(i):  # the loader of the new process begins anew: other batches than golden's
    return batch(i - BREAK if fault else i)


def late(i):  # nothing is resumed: the loader begins with another batch
    return batch(i + BREAK if fault else i)


def evaluate():  # no run is resumed: the fault loses the first samples, and all steps have the same weights
    import opdump
    torch.manual_seed(0)
    model = Net().eval()
    for i in range(BREAK if fault else 0, STEPS):
        with torch.no_grad():
            print(float(model(batch(i)[0]).sum()))
        opdump.step()


if name.startswith("samples"):
    evaluate()
    sys.exit()
PAIRS = {"late": (adam, late), "adam": (adam, batch), "schedule": (schedule, batch), "average": (average, epochs), "loader": (adam, skipped)}
make, data = PAIRS[name.removesuffix("_fault")]
if sys.argv[2:3] == ["save"]:
    torch.manual_seed(0)
    parts = make()
    for i in range(BREAK):
        step(parts, data(i))
    torch.save({key: part.state_dict() for key, part in parts.items()}, sys.argv[3])
else:
    train(make, data, step)
