"""A recurrent layer by hand against torch's, forward only: `recurrent.py PAIR` and `recurrent.py PAIR actual`, with a fault in the one by
hand if PAIR ends in `_fault`."""

import sys

import torch
from torch import nn

name, actual = sys.argv[1], sys.argv[2:] == ["actual"]
fault = actual and name.endswith("_fault")
kind = name.removesuffix("_fault")


class HandLSTM(nn.LSTM):
    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.hidden_size)
        out = []
        for t in range(x.shape[1]):
            g = x[:, t] @ self.weight_ih_l0.t() + self.bias_ih_l0 + h @ self.weight_hh_l0.t()
            if not (fault and kind == "bias"):
                g = g + self.bias_hh_l0
            i, f, g, o = g.chunk(4, 1)
            if fault and kind == "lstm":
                f, i = i, f  # gates in another order
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            out.append(h)
        return torch.stack(out, 1), (h, c)


class HandGRU(nn.GRU):
    def forward(self, x):
        h, out = x.new_zeros(x.shape[0], self.hidden_size), []
        for xt in x.unbind(1):
            gi = nn.functional.linear(xt, self.weight_ih_l0, self.bias_ih_l0)
            gh = nn.functional.linear(h, self.weight_hh_l0, self.bias_hh_l0)
            (ir, iz, inn), (hr, hz, hn) = gi.chunk(3, 1), gh.chunk(3, 1)
            r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
            n = torch.tanh(inn + r * hn)
            h = z * n + (1 - z) * h if fault else (1 - z) * n + z * h  # z is for what is kept
            out.append(h)
        return torch.stack(out, 1), h


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        layer = {"gru": (nn.GRU, HandGRU)}.get(kind, (nn.LSTM, HandLSTM))[actual]
        self.embed, self.rnn, self.out = nn.Embedding(20, 6), layer(6, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


torch.manual_seed(0)
net = Tagger()
with torch.no_grad():
    print("RESULT", net(torch.randint(0, 20, (4, 5))).pow(2).mean().item())
