import sys, torch
from opdump.dumper import dumper
with dumper(use_dump=True, dump_path=sys.argv[1]) as d:
    torch.manual_seed(0)
    junk = [torch.randn(64, 64) * int(sys.argv[2]) for _ in range(8)]
    del junk
    net = torch.nn.Linear(64, 64)
    x = torch.empty(64, 64).bernoulli_(0.5)
    x.exponential_(); y = torch.empty(64, 64).fill_(2)
    torch.nn.init.trunc_normal_(y)
    net(x + y).sum().backward()
