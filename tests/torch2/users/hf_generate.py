# needs torch 2.4
"""Greedy, sampled and beam search with a small Llama of transformers."""

import torch
import transformers

torch.manual_seed(0)
transformers.utils.logging.set_verbosity_error()
config = transformers.LlamaConfig(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=32, intermediate_size=64, vocab_size=100)
model = transformers.LlamaForCausalLM(config).eval()
tokens = torch.randint(0, 100, (2, 5))
for how in ({"do_sample": False}, {"do_sample": True, "top_k": 20}, {"num_beams": 3}):
    print(model.generate(tokens, attention_mask=torch.ones_like(tokens), pad_token_id=0, max_new_tokens=8, **how).tolist())
