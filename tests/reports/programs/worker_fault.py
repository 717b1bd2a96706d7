# Two workers of a loader, of which one starts late, normalise samples; with `bug` both by the population's deviation.
import sys, time, torch
from torch.utils.data import DataLoader, Dataset, get_worker_info
bug, late = "bug" in sys.argv, int(sys.argv[1])
class Samples(Dataset):
    def __len__(self): return 16
    def __getitem__(self, i):
        if i < 8 and get_worker_info().id == late: time.sleep(0.05)
        x = torch.tanh(torch.arange(8.0) * (i + 1) / 10)
        return (x - x.mean()) / (x.std(unbiased=not bug) + 1e-5)
torch.manual_seed(0)
net = torch.nn.Linear(8, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in DataLoader(Samples(), batch_size=4, num_workers=2):
    opt.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
print(loss.item())
