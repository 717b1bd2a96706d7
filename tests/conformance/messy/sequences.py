"""LSTM, packed sequences, embeddings, attention; in eval mode with a padding mask, which makes nested tensors."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    lstm = torch.nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(3, 6, 4), [6, 4, 2], batch_first=True)
    out, (h, c) = lstm(packed)
    (out.data.sum() + h.sum()).backward()
    show("lstm", out.data, h, c, lstm)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2)
    embedding = torch.nn.Embedding(10, 8, padding_idx=0)
    tokens = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])
    causal = torch.triu(torch.full((4, 4), float("-inf")), 1)
    y = encoder(embedding(tokens), mask=causal, src_key_padding_mask=tokens == 0)
    y.nan_to_num().sum().backward()
    show("encoder", y, encoder, embedding)
    encoder.eval()
    with torch.no_grad():
        show("fast path", encoder(embedding(tokens), src_key_padding_mask=tokens == 0))
show_state()
