# batched scoring service: pads on the left, runs torch's own encoder
import sys
import torch
import torch.nn as nn
import weights

fault = "".join(sys.argv[1:])
PAD = 0


def collate(rows):
    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), PAD)
    for i, r in enumerate(rows):
        ids[i, longest - len(r):] = torch.tensor(r)
    return ids, ids.ne(PAD)


class Scorer(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.tok = nn.Embedding(60, hidden)
        self.pos = nn.Embedding(16, hidden)
        self.seg = nn.Parameter(torch.zeros(hidden))
        self.norm = nn.LayerNorm(hidden, 1e-12)
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.pool = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh())
        self.cls = nn.Linear(hidden, 3)

    def forward(self, ids, mask):
        if fault == "fault1":
            places = torch.arange(ids.size(1)).expand_as(ids)  # FAULT1
        else:
            places = (mask.long().cumsum(1) - 1).clamp(min=0)
        x = self.norm(self.tok(ids) + self.pos(places) + self.seg)
        x = self.encoder(x, src_key_padding_mask=~mask)
        if fault == "fault2":
            first = x[:, 0]  # FAULT2
        else:
            first = x[torch.arange(len(x)), mask.int().argmax(1)]
        return self.cls(self.pool(first))


def translate(w):
    out = {"tok.weight": w["embeddings.word.weight"], "pos.weight": w["embeddings.position.weight"], "seg": w["embeddings.token_type.weight"][0]}
    for s in ("weight", "bias"):
        out["norm." + s] = w["embeddings.LayerNorm." + s]
        out["pool.0." + s], out["cls." + s] = w["pooler." + s], w["classifier." + s]
        for i in range(2):
            a, b = f"layer.{i}.", f"encoder.layers.{i}."
            out[b + "self_attn.in_proj_" + s] = torch.cat([w[a + f"attention.{n}." + s] for n in ("query", "key", "value")])
            out[b + "self_attn.out_proj." + s] = w[a + "attention.output." + s]
            out[b + "norm1." + s], out[b + "norm2." + s] = w[a + "attention.LayerNorm." + s], w[a + "LayerNorm." + s]
            out[b + "linear1." + s], out[b + "linear2." + s] = w[a + "intermediate." + s], w[a + "output." + s]
    return out


blob = weights.blob
model = Scorer().eval()
model.load_state_dict(translate(blob["w"]))
with torch.inference_mode():
    for line in model(*collate(blob["rows"])).tolist():
        print(" ".join(f"{v:.6f}" for v in line))
