"""A plain training: dropout, momentum, Adam, gradient clipping, a scheduler."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    train(Net())
    model = Net()
    adam = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.StepLR(adam, 1)
    for _ in range(2):
        adam.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1])).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        adam.step()
        scheduler.step()
    show("adam", model, scheduler.get_last_lr())
show_state()
