"""fine-tune a tiny causal LM; check that gradient accumulation is the same as the big batch"""
import sys
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class TrainingArguments:
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 1
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    max_steps: int = 2
    optim: str = "adamw_torch"
    seed: int = 42


class CausalBlock(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, bias):
        b, t, d = x.shape
        q, k, v = [z.view(b, t, self.h, -1).transpose(1, 2) for z in self.c_attn(self.ln_1(x)).split(d, -1)]
        w = torch.softmax(q @ k.transpose(-1, -2) / (d // self.h) ** 0.5 + bias, -1)
        x = x + self.c_proj((w @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln_2(x))


class TinyLM(nn.Module):
    def __init__(self, vocab=61, d=32, h=4, n=2, ctx=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(CausalBlock(d, h) for _ in range(n))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids, attention_mask, labels=None, num_items_in_batch=None):
        t = input_ids.shape[1]
        causal = torch.ones(t, t, dtype=torch.bool).tril()
        keep = causal & attention_mask[:, None, None, :].bool()
        bias = torch.zeros(keep.shape).masked_fill(~keep, -1e9)
        h = self.wte(input_ids) + self.wpe(torch.arange(t))
        for blk in self.blocks:
            h = blk(h, bias)
        logits = self.lm_head(self.ln_f(h))
        if labels is None:
            return logits
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1),
                               ignore_index=-100, reduction="sum")
        return loss / num_items_in_batch


def make_dataset(n, ctx, seed):
    g = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(n):
        length = int(torch.randint(5, ctx + 1, (1,), generator=g))
        out.append(torch.randint(1, 61, (length,), generator=g))
    return out


def collate(seqs, ctx):
    ids = torch.zeros(len(seqs), ctx, dtype=torch.long)
    mask = torch.zeros(len(seqs), ctx, dtype=torch.long)
    labels = torch.full((len(seqs), ctx), -100)
    for i, s in enumerate(seqs):
        ids[i, :len(s)] = s
        mask[i, :len(s)] = 1
        labels[i, :len(s)] = s
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


class Trainer:
    def __init__(self, model, args, data):
        self.model, self.args, self.data = model, args, data
        decay = [p for n, p in model.named_parameters() if p.ndim > 1]
        rest = [p for n, p in model.named_parameters() if p.ndim <= 1]
        self.opt = torch.optim.AdamW([{"params": decay, "weight_decay": args.weight_decay}, {"params": rest, "weight_decay": 0.0}],
                                     lr=args.learning_rate, foreach=args.optim.endswith("foreach"))

    def get_batch_samples(self, step):
        a = self.args
        per, acc = a.per_device_train_batch_size, a.gradient_accumulation_steps
        rows = self.data[step * per * acc:(step + 1) * per * acc]
        micro = [collate(rows[i * per:(i + 1) * per], 16) for i in range(acc)]
        return micro, sum(int((m["labels"][:, 1:] != -100).sum()) for m in micro)

    def train(self):
        losses = []
        for step in range(self.args.max_steps):
            micro, n_items = self.get_batch_samples(step)
            total = 0.0
            for inputs in micro:
                loss = self.model(**inputs, num_items_in_batch=n_items)
                loss.backward()
                total += loss.item()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
            self.opt.step()
            self.opt.zero_grad()
            losses.append((total, float(norm)))
        return losses


def main():
    args = TrainingArguments()
    if sys.argv[1:] == ["actual"]:
        args = TrainingArguments(per_device_train_batch_size=2, gradient_accumulation_steps=4, optim="adamw_foreach")
    torch.manual_seed(args.seed)
    model = TinyLM()
    model.train()
    losses = Trainer(model, args, make_dataset(16, 16, args.seed)).train()
    print("RESULT", *losses, sum(p.detach().double().abs().sum().item() for p in model.parameters()))


main()
