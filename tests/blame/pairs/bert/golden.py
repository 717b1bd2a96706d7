import torch
from torch import nn
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification
torch.manual_seed(15)
config = BertConfig(vocab_size=80, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                    max_position_embeddings=32, num_labels=3, initializer_range=0.15, attn_implementation="eager")
hf = BertForSequenceClassification(config).eval()
texts = [torch.randint(3, 80, (int(n),)) for n in torch.randint(4, 12, (14,))]
labels = torch.randint(0, 3, (14,))

total, hits = 0.0, 0
with torch.no_grad():
    for i in range(0, 14, 8):
        ids = nn.utils.rnn.pad_sequence(texts[i:i + 8], batch_first=True)
        out = hf(input_ids=ids, attention_mask=(ids != 0).long())
        total += F.cross_entropy(out.logits, labels[i:i + 8], reduction='sum').item()
        hits += (out.logits.argmax(-1) == labels[i:i + 8]).sum().item()
print(f"loss {total / 14:.6f} acc {hits / 14:.5f}")
