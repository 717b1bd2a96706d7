# fine-tuning with gradient accumulation; sequences have different numbers of labelled tokens
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
cfg = GPT2Config(vocab_size=60, n_positions=32, n_embd=24, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
model = GPT2LMHeadModel(cfg)
model.train()
ids = torch.randint(0, 60, (6, 4, 12))
labels = ids.clone()
for i, n in enumerate([0, 2, 8, 6]):
    labels[:, i, :n] = -100
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(2):
    x, y = ids[step], labels[step]
    opt.zero_grad()
    n_items = (y[:, 1:] != -100).sum()
    total = 0.0
    for xb, yb in zip(x.split(2), y.split(2)):
        if step: opt.zero_grad()
        logits = model(xb).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 60), yb[:, 1:].reshape(-1), ignore_index=-100, reduction="sum") / n_items
        loss.backward()
        total += loss.item()
    opt.step()
    print(step, "%.6f" % total, "%.5f" % model.transformer.wte.weight.abs().sum().item())
