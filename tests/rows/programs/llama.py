"""A tiny Llama in transformers: continues eight tokens by six. `make` writes its random weights into the folder `tiny`."""

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

if "make" in sys.argv:
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=128, hidden_size=128, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
                         max_position_embeddings=128, bos_token_id=1, eos_token_id=2)
    LlamaForCausalLM(config).save_pretrained("tiny")
else:
    model = LlamaForCausalLM.from_pretrained("tiny", dtype=torch.float32).eval()
    print(model.generate(torch.arange(3, 11)[None], max_new_tokens=6, do_sample=False, eos_token_id=-1)[0, 8:].tolist())
