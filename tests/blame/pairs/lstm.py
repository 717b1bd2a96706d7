# nn.LSTM against a cell loop; training.   python lstm.py golden|actual [sound|gates|bias|h0]
import sys
import torch
from torch import nn

class HandLSTM(nn.Module):
    """Same parameters as nn.LSTM (one layer), in its own loop."""
    mode = "sound"
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        std = hidden_size ** -0.5
        self.weight_ih_l0 = nn.Parameter(torch.empty(4 * hidden_size, input_size).uniform_(-std, std))
        self.weight_hh_l0 = nn.Parameter(torch.empty(4 * hidden_size, hidden_size).uniform_(-std, std))
        self.bias_ih_l0 = nn.Parameter(torch.empty(4 * hidden_size).uniform_(-std, std))
        self.bias_hh_l0 = nn.Parameter(torch.empty(4 * hidden_size).uniform_(-std, std))
    def forward(self, x, state):
        h, c = state
        if self.mode == "h0":
            h = torch.zeros_like(h)
        outputs = []
        for t in range(x.shape[1]):
            gates = x[:, t] @ self.weight_ih_l0.t() + self.bias_ih_l0 + h @ self.weight_hh_l0.t()
            if self.mode != "bias":
                gates = gates + self.bias_hh_l0
            if self.mode == "gates":
                i, f, o, g = gates.chunk(4, 1)      # the order of another framework
            else:
                i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, 1), (h, c)

class Wrapped(nn.LSTM):
    def forward(self, x, state):
        y, (h, c) = super().forward(x, (state[0][None], state[1][None]))
        return y, (h[0], c[0])

class Tagger(nn.Module):
    def __init__(self, hand):
        super().__init__()
        self.embedding = nn.Embedding(30, 12)
        self.start = nn.Linear(4, 20)
        self.lstm = HandLSTM(12, 20) if hand else Wrapped(12, 20, batch_first=True)
        self.norm = nn.LayerNorm(20)
        self.hidden2tag = nn.Linear(20, 6)
    def forward(self, words, speaker):
        h0 = torch.tanh(self.start(speaker))
        y, _ = self.lstm(self.embedding(words), (h0, torch.zeros_like(h0)))
        return self.hidden2tag(self.norm(y))

HandLSTM.mode = sys.argv[2] if len(sys.argv) > 2 else "sound"
torch.manual_seed(0)
tagger = Tagger(sys.argv[1] == "actual")
words, tags, speaker = torch.randint(0, 30, (4, 7)), torch.randint(0, 6, (4, 7)), torch.randn(4, 4)
opt = torch.optim.SGD(tagger.parameters(), lr=0.1)
for epoch in range(2):
    tagger.zero_grad()
    loss = nn.functional.cross_entropy(tagger(words, speaker).permute(0, 2, 1), tags)
    loss.backward()
    opt.step()
    print(epoch, f"{loss.item():.7f}")
