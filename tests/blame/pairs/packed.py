# Sentence encoder over sequences of different lengths.  golden: padded batch, one sequence at a time masked by hand.
# actual: sorted by length, pack_padded_sequence(enforce_sorted=True), unsorted again.
# python packed.py golden|actual [sound|unsort]
import sys
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Encoder(nn.Module):
    def __init__(self, vocab=50, dim=16, hid=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hid, batch_first=True)
        self.attn = nn.Linear(hid, 1)
        self.proj = nn.Sequential(nn.Linear(hid, 32), nn.Tanh(), nn.Linear(32, 5))

    def encode(self, x, lens):
        e = self.embed(x)
        rows = [self.rnn(e[i:i + 1, :l])[0][0] for i, l in enumerate(lens.tolist())]
        return pad_sequence(rows, batch_first=True)

    def forward(self, x, lens):
        h = self.encode(x, lens)
        score = self.attn(h).squeeze(-1)
        score = score.masked_fill(torch.arange(h.size(1))[None] >= lens[:, None], -1e9)
        ctx = (score.softmax(-1).unsqueeze(-1) * h).sum(1)
        return self.proj(ctx)


class PackedEncoder(Encoder):
    wrong = False

    def encode(self, x, lens):
        lens_sorted, perm = lens.sort(descending=True)
        packed = pack_padded_sequence(self.embed(x[perm]), lens_sorted, batch_first=True)
        out, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        if self.wrong:
            return out[perm]
        return out[perm.argsort()]


if __name__ == "__main__":
    torch.manual_seed(0)
    PackedEncoder.wrong = "unsort" in sys.argv
    net = (Encoder if sys.argv[1] == "golden" else PackedEncoder)()
    lens = torch.tensor([4, 9, 2, 7, 6])
    x = torch.randint(1, 50, (5, 9)) * (torch.arange(9)[None] < lens[:, None])
    target = torch.tensor([0, 3, 2, 4, 1])
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    loss = nn.CrossEntropyLoss()(net(x, lens), target)
    loss.backward()
    opt.step()
    print(loss.item(), sum(float(p.sum()) for p in net.parameters()))
