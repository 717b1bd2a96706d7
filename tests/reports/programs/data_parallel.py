# A training step alone and under DistributedDataParallel with one rank, as a launcher starts it.
import os, sys, torch
import torch.distributed as dist
wrapped, bug = "wrap" in sys.argv, "bug" in sys.argv
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Dropout(0.0))
        self.norm = torch.nn.LayerNorm(16, eps=1e-3 if bug else 1e-5)
        self.head = torch.nn.Linear(16, 3)
    def forward(self, x):
        x = self.encoder(x)
        x = x + x.mean(0)
        return self.head(self.norm(x)) * 2
net = Net()
if wrapped:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + os.getpid() % 1000), RANK="0", WORLD_SIZE="1")
    dist.init_process_group("gloo")
    net = torch.nn.parallel.DistributedDataParallel(net)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(2):
    x, y = torch.randn(6, 8), torch.randint(3, (6,))
    loss = torch.nn.functional.cross_entropy(net(x), y) * 3
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
if wrapped: dist.destroy_process_group()
