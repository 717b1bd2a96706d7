"""A DataLoader with workers, and one without."""

from torch.utils.data import DataLoader, Dataset
import torch
from printed import *

torch.manual_seed(0)


class Rows(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.full((4,), float(index)).sin() * 2, index % 3


with watched():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for workers in (0, 2):
        for x, y in DataLoader(Rows(), batch_size=4, shuffle=True, num_workers=workers, multiprocessing_context="fork" if workers else None):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            show("loss", x, loss)
    show("model", model)
show_state()
