# needs torch 2.1
"""A network of bench/cross trained for a step, eager or compiled: compiled_networks.py [NAME eager|compiled]."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench/cross"))
import torch
from networks import make

name, how = sys.argv[1:] or ("transformer", "compiled")
torch.set_num_threads(1)
network, example = make(name)
network.train()
run = torch.compile(network) if how == "compiled" else network
optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
run(example).square().mean().backward()
optimizer.step()
