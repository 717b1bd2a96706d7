"""Autocast to bfloat16, half on the CPU, a gradient scaler by hand."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(torch.randn(5, 4))
            loss = out.float().square().mean()
        (loss * 1024).backward()
        for parameter in model.parameters():
            parameter.grad /= 1024
        optimizer.step()
        show("step", out, loss)
    show("model", model)
    h = torch.randn(4).half()
    show("half", h, h.float() * 2, torch.tensor([6e4]).half() + h.new_tensor([6e4]).float())
show_state()
