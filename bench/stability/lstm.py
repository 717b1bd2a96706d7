"""Two recurrent layers, packed sequences of several lengths, RMSprop; the loss is read after the step."""
import torch
from common import digest
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.head = nn.Linear(32, 5)

    def forward(self, x, lengths):
        packed, _ = self.lstm(pack_padded_sequence(x, lengths, batch_first=True))
        return self.head(pad_packed_sequence(packed, batch_first=True)[0])


net = Tagger()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
x, y = torch.randn(4, 9, 8), torch.randint(5, (4, 9))
for _ in range(3):
    optimizer.zero_grad()
    out = net(x, torch.tensor([9, 7, 5, 2]))
    loss = nn.functional.cross_entropy(out.transpose(1, 2), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(digest(net))
