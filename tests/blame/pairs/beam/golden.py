import torch
import torch.nn as nn

torch.manual_seed(9)
VOC, BOS, EOS, K, LEN = 24, 1, 2, 3, 7


class Decoder(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.emb = nn.Embedding(VOC, width)
        self.cell = nn.GRUCell(width, width)
        self.attn = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(2 * width, VOC)

    def forward(self, tok, h, memory):
        h = self.cell(self.emb(tok), h)
        w = (self.attn(h) @ memory.T).softmax(-1)
        return (self.out(torch.cat([h, w @ memory], -1)) * 3).log_softmax(-1), h


@torch.no_grad()
def search(dec, memory):
    h = memory.mean(0, keepdim=True).expand(K, -1)
    seqs = torch.full((K, 1), BOS)
    scores = torch.tensor([0.0] + [-1e9] * (K - 1))
    for _ in range(LEN):
        logp, new = dec(seqs[:, -1], h, memory)
        total = scores[:, None] + logp
        scores, flat = total.flatten().topk(K)
        beam, tok = flat // VOC, flat % VOC
        h = new[beam]
        seqs = torch.cat([seqs[beam], tok[:, None]], 1)
    return seqs, scores


dec = Decoder().eval()
dec.emb.weight.data *= 3
dec.out.weight.data[:, :16] *= 4
seqs, scores = search(dec, torch.randn(5, 16))
print(seqs.tolist())
print([round(s, 5) for s in scores.tolist()])
