"""A small network whose values SGLang's dumper saves: DUMPER_* in the environment says which and where. Imports the dumper as
SGLang recommends for other programs. --wrong: the second layer's activation is another one."""
import importlib.util
import os
import pathlib
import sys

import torch
from torch import nn

package = pathlib.Path(importlib.util.find_spec("sglang").submodule_search_locations[0])
sys.path.append(str(package / "srt/debug_utils"))
from dumper import dumper


class Layer(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.up, self.down, self.activation = nn.Linear(4, 8), nn.Linear(8, 4), activation

    def forward(self, x):
        return x + self.down(self.activation(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(nn.ReLU()), Layer(nn.GELU("none" if "--wrong" in sys.argv else "tanh"))])

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            dumper.dump("hidden_states", x, layer_id=number)
        return x


if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
net = Net()
dumper.register_non_intrusive_dumper(net)
for step in range(2):
    hidden = net(torch.linspace(-1, 1, 8).reshape(2, 4) + step)
    dumper.dump("transposed", hidden.t())
    hidden.sum().backward()  # the gradient of which is one number for all elements
    dumper.step()
dumper.dump_model(net)
