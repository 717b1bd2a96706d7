"""Training with torch.compile: a compiled model, a graph break, and an evaluation that is not compiled."""
# needs torch 2.1

import fingerprint
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 12), nn.Linear(12, 6)
        self.calls = 0

    def forward(self, x):
        x = self.encoder(x).tanh()
        print("a break in the graph")
        return self.decoder(x)


torch.manual_seed(21)
model = Model()
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    x = torch.randn(4, 6)
    loss = nn.functional.mse_loss(compiled(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex())
with torch.no_grad():
    print(model(torch.ones(1, 6)).sum().item().hex(), fingerprint.of(model.state_dict()))
