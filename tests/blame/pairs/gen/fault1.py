# two prompts in one batch, padded on the left
import torch
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
cfg = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.3, pad_token_id=0,
                  bos_token_id=1, eos_token_id=2)
model = LlamaForCausalLM(cfg).eval()
prompts = [[1, 17, 33, 9, 41], [1, 25, 52]]
width = max(map(len, prompts))
ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
mask = (ids != 0).long()
seqs, logits, past, cur = ids, [], None, ids
with torch.no_grad():
    for i in range(4):
        seen = 0 if past is None else past.get_seq_length()
        pos = torch.arange(seen, seen + cur.shape[1]).expand(2, -1)
        if past is None: pos = (mask.cumsum(-1) - 1).clamp(min=0)
        o = model(cur, attention_mask=mask, position_ids=pos, past_key_values=past, use_cache=True)
        past, last = o.past_key_values, o.logits[:, -1]
        logits.append(last)
        cur = last.argmax(-1, keepdim=True)
        seqs = torch.cat([seqs, cur], 1)
        mask = torch.cat([mask, torch.ones_like(cur)], 1)
print(seqs[:, width:].tolist())
print([[round(v, 4) for v in l.abs().sum(-1).tolist()] for l in logits])
