"""A profiler of the program's own, and record_function: the events are the program's."""

from torch.profiler import ProfilerActivity, profile, record_function
import torch
from printed import *

torch.manual_seed(0)
model = Net()
with watched():
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        with record_function("mine"):
            model(torch.randn(5, 4)).sum().backward()
    counts = {event.key: event.count for event in seen.key_averages() if event.key.startswith("aten::") or event.key == "mine"}
    show("events", sorted(counts.items()), model)
show_state()
