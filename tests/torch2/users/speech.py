"""Sequences of different lengths: packed, through an LSTM, and aligned by CTC; the spectrum by an FFT."""

import fingerprint
import torch
from torch import nn

torch.manual_seed(13)
sound = torch.sin(torch.linspace(0, 400, 3200)).view(2, 1600) + torch.randn(2, 1600) * 0.1
spectrum = torch.stft(sound, 128, hop_length=64, window=torch.hann_window(128), return_complex=True).abs().log1p().transpose(1, 2)
lengths = torch.tensor([26, 20])
packed = nn.utils.rnn.pack_padded_sequence(spectrum, lengths, batch_first=True)
lstm = nn.LSTM(65, 12, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
head = nn.Linear(24, 6)
output, _ = lstm(packed)
padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
logs = head(padded).log_softmax(-1).transpose(0, 1)
loss = nn.CTCLoss()(logs, torch.tensor([[1, 2, 3, 4], [2, 2, 1, 0]]), lengths, torch.tensor([4, 3]))
loss.backward()
print(loss.item().hex(), fingerprint.of(head.weight.grad, lstm.weight_hh_l0.grad))
