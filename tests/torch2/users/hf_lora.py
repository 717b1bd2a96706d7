# needs torch 2.4
"""A BERT of transformers with adapters of peft, autocast and a fused optimizer."""

import peft
import torch
import transformers

torch.manual_seed(0)
transformers.utils.logging.set_verbosity_error()
config = transformers.BertConfig(num_hidden_layers=2, num_attention_heads=2, hidden_size=32, intermediate_size=64, vocab_size=100)
model = transformers.BertForSequenceClassification(config)
model = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["query", "value"], task_type="SEQ_CLS"))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, fused=True)
tokens, labels = torch.randint(0, 100, (8, 12)), torch.randint(0, 2, (8,))
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(input_ids=tokens, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item().hex())
