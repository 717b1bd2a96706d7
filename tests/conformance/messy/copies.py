"""deepcopy, pickle, torch.save of modules, tensors, optimizers; state dictionaries; weak references."""

import copy
import gc
import io
import pickle
import weakref
import torch
from printed import *

torch.manual_seed(0)
with watched():
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    train(model, steps=1, optimizer=optimizer)
    twin = copy.deepcopy(model)
    pickled = pickle.loads(pickle.dumps(model))
    file = io.BytesIO()
    torch.save({"model": model, "state": optimizer.state_dict()}, file)
    file.seek(0)
    loaded = torch.load(file)
    show("equal", *(all(torch.equal(a, b) for a, b in zip(model.parameters(), m.parameters())) for m in (twin, pickled, loaded["model"])))
    show("keys", sorted(vars(model)), sorted(loaded["state"]), len(file.getvalue()))
    t = torch.randn(1000)
    gone = weakref.ref(t)
    u = t * 2
    del t
    show("freed", gone() is None)
    gone = weakref.ref(model)
    del model, optimizer, loaded, twin, pickled
    gc.collect()
    show("module freed", gone() is None, torch.nn.Module.__call__.__name__)
show_state()
