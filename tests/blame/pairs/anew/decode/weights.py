"""What both programs load."""

import torch
torch.manual_seed(2)
V, D, H, KV, HD, FF, L = 48, 32, 4, 2, 8, 48, 2
w = {"model.embed_tokens.weight": torch.randn(V, D)}
for i in range(L):
    p = f"model.layers.{i}."
    for n, o, a in (("self_attn.q_proj", H * HD, D), ("self_attn.k_proj", KV * HD, D), ("self_attn.v_proj", KV * HD, D), ("self_attn.o_proj", D, H * HD),
                    ("mlp.gate_proj", FF, D), ("mlp.up_proj", FF, D), ("mlp.down_proj", D, FF)):
        w[p + n + ".weight"] = torch.randn(o, a) * a ** -.5 * 1.3
    w[p + "input_layernorm.weight"] = 1 + .2 * torch.randn(D); w[p + "post_attention_layernorm.weight"] = 1 + .2 * torch.randn(D)
w["model.norm.weight"] = 1 + .2 * torch.randn(D); w["lm_head.weight"] = torch.randn(V, D) * D ** -.5
blob = {"w": w, "ids": torch.randint(0, V, (2, 9))}
