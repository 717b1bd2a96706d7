# NER tagger. We can't use cuDNN packed LSTMs on our target, so the LSTM is written out by hand; must match training with nn.LSTM.
import sys, torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, N_TAGS = 0, 5
HAND = len(sys.argv) > 1 and sys.argv[1] == "actual"


class HandLSTM(nn.Module):
    """bidirectional, single layer, batch_first; parameters named as those of nn.LSTM"""
    def __init__(self, inp, hid):
        super().__init__()
        ref = nn.LSTM(inp, hid, batch_first=True, bidirectional=True)
        self.hid = hid
        for n, p in ref.named_parameters():
            self.register_parameter(n, nn.Parameter(p.detach().clone()))

    def run(self, x, mask, suffix):
        w_ih, w_hh = getattr(self, "weight_ih_l0" + suffix), getattr(self, "weight_hh_l0" + suffix)
        b = getattr(self, "bias_ih_l0" + suffix) + getattr(self, "bias_hh_l0" + suffix)
        h = x.new_zeros(x.shape[0], self.hid)
        c = x.new_zeros(x.shape[0], self.hid)
        proj = x @ w_ih.t() + b
        steps = range(x.shape[1])
        outs = {}
        for t in (reversed(steps) if suffix else steps):
            gates = proj[:, t] + h @ w_hh.t()
            i, f, g, o = gates.chunk(4, 1)
            c_new = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h_new = torch.sigmoid(o) * torch.tanh(c_new)
            m = mask[:, t:t + 1]
            c = torch.where(m, c_new, c)
            h = torch.where(m, h_new, h)
            outs[t] = h_new * m
        return torch.stack([outs[t] for t in steps], 1)

    def forward(self, x, mask):
        return torch.cat([self.run(x, mask, ""), self.run(x, mask, "_reverse")], -1)


class PackedLSTM(nn.LSTM):
    def forward(self, x, mask):
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = super().forward(packed)
        return pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])[0]


class Tagger(nn.Module):
    def __init__(self, vocab=40, emb=12, hid=10):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.rnn = HandLSTM(emb, hid) if HAND else PackedLSTM(emb, hid, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(2 * hid)
        self.out = nn.Linear(2 * hid, N_TAGS)

    def forward(self, tokens):
        mask = tokens != PAD
        return self.out(self.norm(self.rnn(self.embed(tokens), mask)))


def batches():
    g = torch.Generator().manual_seed(11)
    for _ in range(3):
        lengths = torch.tensor([7, 3, 5, 6])
        x = torch.randint(1, 40, (4, 7), generator=g)
        y = torch.randint(0, N_TAGS, (4, 7), generator=g)
        gone = torch.arange(7)[None] >= lengths[:, None]
        yield x.masked_fill(gone, PAD), y.masked_fill(gone, -1)


torch.manual_seed(0)
model = Tagger()
opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, nesterov=True)
crit = nn.CrossEntropyLoss(ignore_index=-1)
history = []
for x, y in batches():
    opt.zero_grad()
    loss = crit(model(x).transpose(1, 2), y)
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    opt.step()
    history.append(loss.item())
print("RESULT", history, sum(p.detach().double().abs().sum().item() for p in model.parameters()))
