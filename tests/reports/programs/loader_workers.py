import sys, torch
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self): return 12
    def __getitem__(self, i):
        x = torch.randn(5, generator=torch.Generator().manual_seed(i))
        return (x - x.mean()) / x.std()

torch.manual_seed(0)
net = torch.nn.Linear(5, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in DataLoader(Noise(), batch_size=3, num_workers=int(sys.argv[1])):
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
