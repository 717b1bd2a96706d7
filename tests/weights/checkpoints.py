"""Small models as two programs would write them: in the way of Hugging Face, and as a port with merged projections, other
names and another rotary order. And files as their libraries write them."""
import json
import struct

import torch

D, HEADS, KV_HEADS, HEAD, FFN, VOCAB, LAYERS = 32, 4, 2, 8, 48, 40, 3


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = torch.nn.ModuleDict({
            "q_proj": torch.nn.Linear(D, HEADS * HEAD), "k_proj": torch.nn.Linear(D, KV_HEADS * HEAD),
            "v_proj": torch.nn.Linear(D, KV_HEADS * HEAD), "o_proj": torch.nn.Linear(HEADS * HEAD, D, bias=False)})
        self.mlp = torch.nn.ModuleDict({
            "gate_proj": torch.nn.Linear(D, FFN, bias=False), "up_proj": torch.nn.Linear(D, FFN, bias=False),
            "down_proj": torch.nn.Linear(FFN, D, bias=False)})
        self.input_layernorm, self.post_attention_layernorm = torch.nn.LayerNorm(D), torch.nn.LayerNorm(D)


class Llama(torch.nn.Module):
    """The parameters of a Llama-like model, as Hugging Face names them."""

    def __init__(self, seed=0, layers=LAYERS, trained=True):
        torch.manual_seed(seed)
        super().__init__()
        self.model = torch.nn.Module()
        self.model.embed_tokens = torch.nn.Embedding(VOCAB, D)
        self.model.layers = torch.nn.ModuleList(Block() for _ in range(layers))
        self.model.norm = torch.nn.LayerNorm(D)
        self.lm_head = torch.nn.Linear(D, VOCAB, bias=False)
        if trained:  # no norm is all ones, and no bias zero
            for name, parameter in self.named_parameters():
                if "norm" in name:
                    torch.nn.init.normal_(parameter, 1.0 if name.endswith("weight") else 0.0, 0.1)


def state(*args, **options):
    return {name: tensor.clone() for name, tensor in Llama(*args, **options).state_dict().items()}


def halves_to_pairs(rows):
    """From the rotary order of Hugging Face (0 4 | 1 5 | ...) to that of Meta (0 1 | 2 3 | ...)."""
    return rows.view(-1, 2, HEAD // 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape).contiguous()


def port(golden, rotary=False, grouped=False):
    """The same network in another program: other names, merged projections."""
    turn = halves_to_pairs if rotary else lambda rows: rows

    def merge(q, k, v):
        q, k = turn(q), turn(k)
        if not grouped:
            return torch.cat([q, k, v])
        parts = [rows.view(KV_HEADS, -1, *rows.shape[1:]) for rows in (q, k, v)]
        return torch.cat(parts, 1).reshape(-1, *q.shape[1:]).contiguous()

    ported = {"tok.weight": golden["model.embed_tokens.weight"], "final.scale": golden["model.norm.weight"],
              "final.shift": golden["model.norm.bias"], "unembed.weight": golden["lm_head.weight"]}
    for i in range(LAYERS):
        old, new = f"model.layers.{i}.", f"blocks.{i}."
        for leaf in ("weight", "bias"):
            ported[f"{new}att.in.{leaf}"] = merge(*(golden[f"{old}self_attn.{part}_proj.{leaf}"] for part in "qkv"))
            ported[f"{new}n1.{leaf}"] = golden[f"{old}input_layernorm.{leaf}"]
            ported[f"{new}n2.{leaf}"] = golden[f"{old}post_attention_layernorm.{leaf}"]
        ported[new + "att.out.weight"] = golden[old + "self_attn.o_proj.weight"]
        ported[new + "ff.in.weight"] = torch.cat([golden[f"{old}mlp.{part}_proj.weight"] for part in ("gate", "up")])
        ported[new + "ff.out.weight"] = golden[old + "mlp.down_proj.weight"]
    return {name: tensor.clone() for name, tensor in ported.items()}


DTYPES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.int64: "I64", torch.float64: "F64"}


def raw(tensor):
    tensor = tensor.contiguous()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes()


def save_safetensors(tensors, path, header=None, dtypes=DTYPES):
    entries, offset = {}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.numel() * tensor.element_size()
        entries[name] = {"dtype": dtypes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    entries.update(header or {})
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(raw(tensor))
