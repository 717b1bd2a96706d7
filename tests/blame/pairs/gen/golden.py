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
out = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=4, min_new_tokens=4, do_sample=False, output_logits=True, return_dict_in_generate=True)
seqs, logits = out.sequences, out.logits
print(seqs[:, width:].tolist())
print([[round(v, 4) for v in l.abs().sum(-1).tolist()] for l in logits])
