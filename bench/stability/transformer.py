"""An encoder with a causal mask and padding, Adam, gradient clipping; then inference with the padding mask."""
import torch
from common import digest
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
embed, encoder, head = nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2), nn.Linear(32, 50)
net = nn.ModuleList([embed, encoder, head])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
tokens = torch.randint(1, 50, (4, 12))
padding = torch.arange(12).expand(4, 12) >= torch.tensor([12, 10, 8, 6]).unsqueeze(1)
causal = nn.Transformer.generate_square_subsequent_mask(12)
for _ in range(3):
    optimizer.zero_grad()
    out = head(encoder(embed(tokens), mask=causal))
    loss = nn.functional.cross_entropy(out[:, :-1].reshape(-1, 50), tokens[:, 1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
encoder.eval()
with torch.no_grad():
    out = encoder(embed(tokens), src_key_padding_mask=padding)
print(loss.item(), out.double().sum().item(), digest(net))
