"""bfloat16 by autocast, gradients accumulated, a moving average of the weights, a checkpoint saved and resumed."""

import copy
import pathlib
import tempfile

import fingerprint
import torch
from torch import nn


def build():
    torch.manual_seed(14)
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32, 8))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


model, optimizer = build()
average = copy.deepcopy(model)
for step in range(2):
    for part in torch.randn(2, 4, 8):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.smooth_l1_loss(model(part), part) / 2
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for kept, new in zip(average.parameters(), model.parameters()):
            kept.lerp_(new, 0.1)
    print(step, loss.item().hex())
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "last.pt")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}, path)
    model, optimizer = build()
    kept = torch.load(path)
model.load_state_dict(kept["model"])
optimizer.load_state_dict(kept["optimizer"])
torch.set_rng_state(kept["random"])
model(torch.randn(4, 8)).sum().backward()
optimizer.step()
print(fingerprint.of(model.state_dict(), average.state_dict()))
