"""MLM pre-training step; new trainer with fused/foreach AdamW."""
import sys
import torch
from torch import nn
import torch.nn.functional as F


class BertSelfOutput(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.dense, self.norm = nn.Linear(d, d), nn.LayerNorm(d, eps=1e-12)

    def forward(self, h, res):
        return self.norm(self.dense(h) + res)


class BertLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.query, self.key, self.value = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.output = BertSelfOutput(d)
        self.intermediate = nn.Linear(d, 2 * d)
        self.ffn_out = nn.Linear(2 * d, d)
        self.norm = nn.LayerNorm(d, eps=1e-12)

    def forward(self, x):
        b, t, d = x.shape
        s = lambda z: z.view(b, t, self.h, -1).transpose(1, 2)
        p = (s(self.query(x)) @ s(self.key(x)).mT / (d // self.h) ** 0.5).softmax(-1)
        x = self.output((p @ s(self.value(x))).transpose(1, 2).reshape(b, t, d), x)
        return self.norm(self.ffn_out(F.gelu(self.intermediate(x))) + x)


class BertForMaskedLM(nn.Module):
    def __init__(self, vocab=53, d=24, h=4, layers=2):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, d)
        self.position = nn.Embedding(16, d)
        self.emb_norm = nn.LayerNorm(d, eps=1e-12)
        self.encoder = nn.ModuleList(BertLayer(d, h) for _ in range(layers))
        self.transform = nn.Linear(d, d)
        self.transform_norm = nn.LayerNorm(d, eps=1e-12)
        self.decoder_bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, ids, labels):
        x = self.emb_norm(self.embeddings(ids) + self.position(torch.arange(ids.shape[1])))
        for layer in self.encoder:
            x = layer(x)
        x = self.transform_norm(F.gelu(self.transform(x)))
        logits = F.linear(x, self.embeddings.weight, self.decoder_bias)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


def get_parameter_groups(model, weight_decay, no_decay):
    groups = [{"params": [], "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]
    for name, p in model.named_parameters():
        groups[any(nd in name for nd in no_decay)]["params"].append(p)
    return [g for g in groups if g["params"]]


def mask_tokens(ids, g, mask_id=52, p=0.3):
    labels = ids.clone()
    picked = torch.rand(ids.shape, generator=g) < p
    labels[~picked] = -100
    return ids.masked_fill(picked, mask_id), labels


def run(new_trainer):
    torch.manual_seed(10)
    model = BertForMaskedLM()
    for n, p in model.named_parameters():
        if n.endswith("norm.bias"):
            nn.init.normal_(p, std=0.1)
    if new_trainer:
        groups = get_parameter_groups(model, 0.1, ["bias", "LayerNorm.weight"])
        opt = torch.optim.AdamW(groups, lr=5e-3, foreach=True)
    else:
        groups = get_parameter_groups(model, 0.1, ["bias", "norm.weight"])
        opt = torch.optim.AdamW(groups, lr=5e-3, foreach=False)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 2))
    g = torch.Generator().manual_seed(6)
    for step in range(3):
        ids, labels = mask_tokens(torch.randint(0, 52, (4, 12), generator=g), g)
        loss = model(ids, labels)
        loss.backward()
        opt.step()
        sched.step()
        opt.zero_grad()
        print("step", step, loss.item())
    print("RESULT", loss.item(), sum(p.detach().double().abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    run(sys.argv[1:2] == ["actual"])
