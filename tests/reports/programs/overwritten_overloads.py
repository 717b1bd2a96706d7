import sys, torch
from opdump.dumper import dumper
with dumper(use_dump=True, dump_path=sys.argv[1]):
    torch.manual_seed(0)
    for fill in (lambda t: t.random_(0, 10), lambda t: t.random_(7), lambda t: t.bernoulli_(0.3), lambda t: t.fill_(2.0), lambda t: t.normal_(1, 2),
                 lambda t: t.bernoulli_(torch.full((40, 40), 0.5)), lambda t: t.fill_(torch.tensor(3.0)), lambda t: t.geometric_(0.5), lambda t: t.cauchy_()):
        (fill(torch.empty(40, 40)) * 2).sum()
