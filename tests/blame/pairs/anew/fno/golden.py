"""Fourier neural operator in one dimension, complex weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import weights


class SpectralConv1d(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.weights = nn.Parameter(torch.zeros(width, width, modes, dtype=torch.cfloat))

    def forward(self, x):
        x_ft = torch.fft.rfft(x)
        out = torch.zeros(x.size(0), x.size(1), x.size(-1) // 2 + 1, dtype=torch.cfloat)
        out[:, :, :self.modes] = torch.einsum("bix,iox->box", x_ft[:, :, :self.modes], self.weights)
        return torch.fft.irfft(out, n=x.size(-1))


class FNO(nn.Module):
    def __init__(self, width=8, modes=5):
        super().__init__()
        self.lift = nn.Linear(2, width)
        self.spec = nn.ModuleList(SpectralConv1d(width, modes) for _ in range(3))
        self.skip = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(3))
        self.proj = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, a):
        grid = torch.linspace(0, 1, a.size(1)).expand_as(a)
        x = self.lift(torch.stack([a, grid], -1)).permute(0, 2, 1)
        for i, (s, k) in enumerate(zip(self.spec, self.skip)):
            x = s(x) + k(x)
            if i < 2:
                x = F.gelu(x)
        return self.proj(x.permute(0, 2, 1)).squeeze(-1)


d = weights.blob
fno = FNO()
fno.load_state_dict({(k + ".weights" if k.startswith("spec") else k): v for k, v in d["w"].items()})
opt = torch.optim.SGD(fno.parameters(), lr=2e-2)
for a, u in zip(d["a"], d["u"]):
    pred = fno(a)
    loss = (torch.norm(pred - u, dim=1) / torch.norm(u, dim=1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.7f}")
