"""Where an operand comes from: whoever made it has an output with these very bytes."""

import json
import subprocess

import numpy as np

from conftest import OPDUMP

# The gates of an LSTM are columns of one buffer, each written in place; its outputs are rows of another.
LSTM = """
    import torch
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(5, 7, num_layers=2, batch_first=True)
    out, _ = lstm(torch.randn(3, 4, 5))
    out.square().sum().backward()
    buffer = torch.zeros(6, 8)
    for row in range(6):
        torch.sin(torch.full((8,), float(row)), out=buffer[row])
    buffer[:, ::2].mul_(2)
    (buffer[1] + buffer[3]).exp()
    buffer[:, 1::2].contiguous().tanh()
"""


def test_producers_made_the_bytes_that_are_read(opdump):
    dump = opdump.run(LSTM, saved_data="tensor")
    listing = subprocess.run([OPDUMP, "ir", dump.path.parent, "--op", "op", "--json"], capture_output=True, text=True, check=True,
                             cwd=opdump.directory)
    operators = [json.loads(line) for line in listing.stdout.splitlines()]
    slots = {(o["operator"], slot["slot"]): slot for o in operators for slot in o["slots"]}
    compared, wrong = 0, []
    for (operator, name), slot in slots.items():
        made = slots.get((slot["from"]["operator"], slot["from"]["slot"])) if "operator" in slot.get("from", {}) else None
        if not made or made["shape"] != slot["shape"] or not made.get("files") or not slot.get("files"):
            continue
        compared += 1
        arrays = [np.load(opdump.directory / s["files"][0]["file"]) for s in (made, slot)]
        if not np.array_equal(*arrays, equal_nan=True):
            wrong.append((operator, name, slot["from"]))
    assert compared > 40  # newer torch has one operator for all steps of a layer
    assert not wrong, wrong
