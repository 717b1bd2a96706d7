# needs torch 2.6
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
r = dist.get_rank(); torch.manual_seed(0)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4)); o = torch.optim.SGD(m.parameters(), lr=.1)
for i in range(2):
    m(torch.full((2, 4), float(r + i))).sum().backward(); o.step(); o.zero_grad()
import torch.distributed._functional_collectives as fc
y = fc.all_reduce(torch.ones(3) * r, "sum", list(range(dist.get_world_size()))); y = fc.wait_tensor(y) if hasattr(fc, "wait_tensor") else y
if r == 0: print(m.module.weight.sum().item(), y + 0)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor, Shard, Replicate
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
d = distribute_tensor(torch.arange(8.).reshape(4, 2), mesh, [Shard(0)])
s = (d @ d.T.redistribute(mesh, [Replicate()])).full_tensor() if hasattr(d, "full_tensor") else d
if r == 0: print(s.sum().item())
from torch.distributed.fsdp import fully_shard
f = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)); fully_shard(f, mesh=mesh); o = torch.optim.SGD(f.parameters(), lr=.1)
for i in range(2):
    f(torch.ones(2, 4)).sum().backward(); o.step(); o.zero_grad()
if r == 0: print("fsdp ok")
dist.destroy_process_group()
