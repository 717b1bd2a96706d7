"""What the programs of bench/verdict_stability.py share: a digest of what they trained, and real data."""
import hashlib

import torch


def digest(*modules):
    """The digest of all parameters, buffers and of torch's random state."""
    state = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
    for module in modules:
        for name, tensor in module.state_dict().items():
            state.update(name.encode())
            state.update(tensor.detach().double().numpy().tobytes())
    return state.hexdigest()[:16]


def digits(count):
    """Handwritten digits as (count, 1, 8, 8) in 0..1, with their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    x = torch.tensor(data.images[:count], dtype=torch.float32).unsqueeze(1) / 16
    return x, torch.tensor(data.target[:count])
