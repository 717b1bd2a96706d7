"""NMT step. `actual` swaps nn.CrossEntropyLoss(label_smoothing) for the fairseq-like criterion that we can instrument."""
import sys
import torch
from torch import nn
import torch.nn.functional as F

PAD = 1


class LabelSmoothedCrossEntropy(nn.Module):
    def __init__(self, epsilon, ignore_index):
        super().__init__()
        self.epsilon, self.ignore_index = epsilon, ignore_index

    def forward(self, logits, target):
        lprobs = F.log_softmax(logits, dim=-1)
        pad = target.eq(self.ignore_index)
        nll = -lprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        smooth = -lprobs.mean(dim=-1)
        nll = nll.masked_fill(pad, 0.0)
        smooth = smooth.masked_fill(pad, 0.0)
        loss = (1.0 - self.epsilon) * nll + self.epsilon * smooth
        return loss.mean()


class Seq2Seq(nn.Module):
    def __init__(self, vocab=41, d=24, hid=24):
        super().__init__()
        self.src_embed = nn.Embedding(vocab, d, padding_idx=PAD)
        self.tgt_embed = nn.Embedding(vocab, d, padding_idx=PAD)
        self.encoder = nn.GRU(d, hid, batch_first=True)
        self.decoder = nn.GRU(d, hid, batch_first=True)
        self.attn_q = nn.Linear(hid, hid, bias=False)
        self.combine = nn.Linear(2 * hid, hid)
        self.generator = nn.Linear(hid, vocab)

    def forward(self, src, tgt_in):
        memory, state = self.encoder(self.src_embed(src))
        out, _ = self.decoder(self.tgt_embed(tgt_in), state)
        score = torch.bmm(self.attn_q(out), memory.transpose(1, 2))
        score = score.masked_fill(src.eq(PAD).unsqueeze(1), -1e4)
        ctx = torch.bmm(score.softmax(-1), memory)
        return self.generator(torch.tanh(self.combine(torch.cat([out, ctx], -1))))


def fake_bitext(g):
    src = torch.randint(3, 41, (5, 8), generator=g)
    tgt = torch.randint(3, 41, (5, 7), generator=g)
    tgt[:, 0] = 2
    for i, (a, b) in enumerate([(8, 7), (5, 4), (6, 7), (8, 5), (3, 6)]):
        src[i, a:] = PAD
        tgt[i, b:] = PAD
    return src, tgt


def train(criterion):
    torch.manual_seed(77)
    model = Seq2Seq()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98), eps=1e-9)
    g = torch.Generator().manual_seed(78)
    for update in range(2):
        src, tgt = fake_bitext(g)
        logits = model(src, tgt[:, :-1])
        loss = criterion(logits.reshape(-1, logits.shape[-1]), tgt[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        print(update, loss.item())
    print("RESULT", loss.item())


if __name__ == "__main__":
    if sys.argv[1:] == ["actual"]:
        train(LabelSmoothedCrossEntropy(0.1, PAD))
    else:
        train(nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=PAD))
