"""More pairs about results that are replaced, or read by nobody: `unread_too.py PAIR` is golden, `unread_too.py PAIR actual` the other run.

The constructors of the two runs draw with different seeds. Unless the pair's name ends in `_lost`, all that is computed with comes from a
checkpoint, and so nothing is wrong."""

import sys

import torch
from torch import nn

name = sys.argv[1]
actual = sys.argv[2:] == ["actual"]
torch.manual_seed(2 if actual else 1)
fixed = torch.Generator().manual_seed(3)


class Patches(nn.Module):
    """A small vision transformer's first layers, with the initialisation of the pair."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(12, 8)
        if name.startswith("truncated"):
            self.position = nn.Parameter(torch.zeros(1, 5, 8))
            nn.init.trunc_normal_(self.position, std=0.02)
        elif name.startswith("orthogonal"):
            self.position = nn.Parameter(torch.empty(1, 5, 8))
            nn.init.orthogonal_(self.position[0].data)
        elif name.startswith("scaled"):
            self.position = nn.Parameter(torch.randn(1, 5, 8) * 0.02)  # <- scaled_lost
        else:
            self.position = nn.Parameter(torch.zeros(1, 5, 8))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head((self.project(x) + self.position).mean(1))


net = Patches()
if name == "spare_head":
    spare = nn.Linear(8, 20)
state = {k: torch.randn(v.shape, generator=fixed) * 0.3 for k, v in net.state_dict().items()}
if name == "scaled_lost":
    del state["position"]  # both runs forget it
if name == "assigned":  # torch 2
    net.load_state_dict(state, assign=True)
elif name == "given_data":
    for key, parameter in net.named_parameters():
        parameter.data = state[key]
elif name == "built_anew":
    net.head = nn.Linear(8, 3)
    net.load_state_dict(state)
elif name == "moved":  # an average of two models, as people make of checkpoints
    other = Patches()
    other.load_state_dict({k: v * 2 for k, v in state.items()})
    net.load_state_dict(state)
    with torch.no_grad():
        for a, b in zip(net.parameters(), other.parameters()):
            a.copy_((a + b) / 2)
else:
    net.load_state_dict(state, strict=name != "scaled_lost")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = net(torch.randn(4, 5, 12, generator=fixed)).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
