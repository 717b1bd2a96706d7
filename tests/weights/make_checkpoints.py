#!/usr/bin/env python3
"""Writes the checkpoints of docs/weights.md into the current folder."""
import torch
from checkpoints import LAYERS, port, save_safetensors, state

golden = state()
save_safetensors(golden, "llama.safetensors")
torch.save({name: tensor.bfloat16() for name, tensor in port(golden, rotary=True).items()}, "port.pt")
wrong = port(golden)
wrong["blocks.1.att.in.weight"][[35, 37]] = wrong["blocks.1.att.in.weight"][[37, 35]]
wrong["final.scale"].fill_(1)
wrong["blocks.2.ff.in.weight"] = torch.nn.init.normal_(wrong["blocks.2.ff.in.weight"], std=0.1)
del wrong["unembed.weight"]
assert LAYERS == 3
torch.save(wrong, "wrong.pt")
