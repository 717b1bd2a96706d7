# needs torch 2.3
"""Three steps of training: compiled_optimizer.py [eager|compiled] [lr]. The step of the optimizer is compiled, too."""
import sys

import torch

how, *fault = sys.argv[1:] or ["compiled"]
torch.manual_seed(0)
torch.set_num_threads(1)
network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(network.parameters(), lr=0.02 if fault else 0.01, momentum=0.9)
run, step = network, optimizer.step
if how == "compiled":
    run, step = torch.compile(network), torch.compile(lambda: optimizer.step())
for _ in range(3):
    loss = run(torch.randn(4, 8)).square().mean()
    loss.backward()
    step()
    optimizer.zero_grad()
    print(f"{loss.item():.4f}")
