"""A loader's workers scale each picture by a number that no seed reaches."""

import random

import torch
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        return torch.full((4,), random.SystemRandom().random() + number)


if __name__ == "__main__":
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 2)
    for batch in DataLoader(Pictures(), batch_size=2, num_workers=2):
        net(batch).sum().backward()
