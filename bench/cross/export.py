"""Runs one of the networks, or exports it: export.py run NAME [MODULE] | export.py export NAME DIRECTORY"""
import pathlib
import sys

import numpy as np
import torch
from networks import make


def main(action, name, place=None):
    network, example = make(name)
    if action == "run":
        with torch.no_grad():
            if place:  # a fault: what follows has other values
                weight = next(p for p in network.get_submodule(place).parameters())
                weight.mul_(1.5)
            network(example)
        return
    folder = pathlib.Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "data.npy", example.numpy())
    names = {"input_names": ["data"], "output_names": ["result"]}
    torch.onnx.export(network, (example,), str(folder / "script.onnx"), dynamo=False, **names)
    torch.onnx.export(network, (example,), str(folder / "dynamo.onnx"), dynamo=True, **names)


main(*sys.argv[1:])
