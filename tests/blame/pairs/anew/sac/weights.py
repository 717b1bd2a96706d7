"""What both programs load."""

import torch
torch.manual_seed(7)
S, A, H = 5, 2, 24
w = {}
def lin(n, o, i): w[n + ".weight"] = torch.randn(o, i) * i ** -.5; w[n + ".bias"] = .1 * torch.randn(o)
for q in ("q1", "q2"): lin(q + ".0", H, S + A); lin(q + ".2", H, H); lin(q + ".4", 1, H)
lin("pi.0", H, S); lin("pi.2", H, H); lin("pi.mu", A, H); lin("pi.log_std", A, H)
n = 4
blob = {"w": w, "s": torch.randn(n, 16, S), "a": torch.rand(n, 16, A) * 2 - 1, "r": torch.randn(n, 16), "s2": torch.randn(n, 16, S),
            "d": (torch.rand(n, 16) < .25).float(), "eps": torch.randn(n, 2, 16, A)}
