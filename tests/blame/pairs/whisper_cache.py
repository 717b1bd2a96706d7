"""Whisper-like decoder with cross attention: forced decoding in one pass vs. token by token with cache."""
import sys
import torch
from torch import nn
import torch.nn.functional as F


class WhisperAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.scaling = h, (d // h) ** -0.5
        self.q_proj, self.v_proj, self.out_proj = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.k_proj = nn.Linear(d, d, bias=False)

    def shape(self, x):
        return x.view(x.shape[0], x.shape[1], self.h, -1).transpose(1, 2)

    def forward(self, x, kv=None, past=None, mask=None):
        q = self.shape(self.q_proj(x) * self.scaling)
        if kv is not None and past is not None:
            k, v = past
        else:
            src = x if kv is None else kv
            k, v = self.shape(self.k_proj(src)), self.shape(self.v_proj(src))
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        w = q @ k.transpose(-1, -2)
        if mask is not None:
            w = w + mask
        o = w.softmax(-1) @ v
        return self.out_proj(o.transpose(1, 2).flatten(2)), (k, v)


class WhisperDecoderLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.self_attn, self.encoder_attn = WhisperAttention(d, h), WhisperAttention(d, h)
        self.self_attn_layer_norm, self.encoder_attn_layer_norm, self.final_layer_norm = (nn.LayerNorm(d) for _ in range(3))
        self.fc1, self.fc2 = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x, audio, past, mask):
        a, self_kv = self.self_attn(self.self_attn_layer_norm(x), past=past and past[0], mask=mask)
        x = x + a
        c, cross_kv = self.encoder_attn(self.encoder_attn_layer_norm(x), kv=audio, past=past and past[1])
        x = x + c
        return x + self.fc2(F.gelu(self.fc1(self.final_layer_norm(x)))), (self_kv, cross_kv)


class WhisperDecoder(nn.Module):
    def __init__(self, vocab=45, d=32, h=4, layers=2, ctx=24):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, d)
        self.embed_positions = nn.Embedding(ctx, d)
        self.layers = nn.ModuleList(WhisperDecoderLayer(d, h) for _ in range(layers))
        self.layer_norm = nn.LayerNorm(d)

    def forward(self, input_ids, audio, past_key_values=None):
        # past_key_values: per layer ((self_k, self_v), (cross_k, cross_v))
        n_past = past_key_values[0][0][0].shape[1] if past_key_values is not None else 0
        t = input_ids.shape[1]
        positions = torch.arange(n_past, n_past + t)
        x = self.embed_tokens(input_ids) + self.embed_positions(positions)
        mask = torch.full((t, t), float("-inf")).triu(1) if past_key_values is None else None
        cache = []
        for i, layer in enumerate(self.layers):
            x, kv = layer(x, audio, past_key_values[i] if past_key_values is not None else None, mask)
            cache.append(kv)
        return self.layer_norm(x) @ self.embed_tokens.weight.t(), cache


@torch.no_grad()
def score(decoder, tokens, audio, use_cache):
    if not use_cache:
        logits, _ = decoder(tokens, audio)
    else:
        chunks, past = [], None
        for piece in (tokens[:, :3], *tokens[:, 3:].split(1, dim=1)):
            out, past = decoder(piece, audio, past)
            chunks.append(out)
        logits = torch.cat(chunks, 1)
    return logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)


if __name__ == "__main__":
    torch.manual_seed(0)
    dec = WhisperDecoder().eval()
    audio_states = torch.randn(2, 7, 32)
    toks = torch.randint(0, 45, (2, 8))
    lp = score(dec, toks, audio_states, use_cache=sys.argv[1:] == ["actual"])
    print("RESULT", lp.sum(-1).tolist())
