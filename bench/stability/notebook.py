"""A cell that is run twice in one process, each time recorded into a folder of its own: DIRECTORY/0 and DIRECTORY/1."""
import json
import os
import sys

import torch  # noqa: F401 - the cell uses it
from common import digest, digits  # noqa: F401 - likewise

import opdump

CELL = """
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print(loss.item(), digest(net))
"""

with open(os.environ["STABILITY_CONFIG"]) as file:
    config = json.load(file)
x, y = digits(16)
for run in range(2):
    config["common_dump_settings"]["path"] = os.path.join(sys.argv[1], str(run))
    with opdump.dump(config):
        exec(compile(CELL, "<cell>", "exec"), globals())
