"""Warnings of Python and of torch: as errors, once, and as they are."""

import warnings
import torch
from printed import *

torch.manual_seed(0)
warnings.simplefilter("default")
with watched():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.functional.softmax(torch.ones(2))
        torch.ones(3, requires_grad=True).sum().grad
        warnings.warn("of the program")
        torch.nn.functional.mse_loss(torch.ones(2), torch.ones(1))
    show("caught", [(w.category.__name__, str(w.message)[:40]) for w in caught])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        show_error("as an error", lambda: torch.nn.functional.mse_loss(torch.ones(2), torch.ones(1)))
        train(Net(), steps=1)
    warnings.warn("seen on stderr")
show_state()
