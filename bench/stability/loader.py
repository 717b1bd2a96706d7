"""Two loader workers per epoch, batches collated by torch, kept for a second epoch."""
import torch
from common import digest, digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self):
        self.x, self.y = digits(64)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index].flip(-1) * 2 - 1, self.y[index]


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = DataLoader(Digits(), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
    print(loss.item(), digest(net))


if __name__ == "__main__":
    main()
