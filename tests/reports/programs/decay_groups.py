# A transformer-like model whose parameters are given to the optimizer in reverse order or in exchanged groups, with and without weight decay.
import sys, torch
order, bug, name = "order" in sys.argv, "bug" in sys.argv, sys.argv[1]
torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.LayerNorm(6)) for _ in range(3)])
decay = [p for n, p in net.named_parameters() if n.endswith("weight") and p.dim() > 1]
other = [p for n, p in net.named_parameters() if not (n.endswith("weight") and p.dim() > 1)]
if bug: decay, other = decay + other[:1], other[1:]
groups = [{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}]
if "groups" in sys.argv: groups.reverse()
if order: groups = [{"params": list(reversed(g["params"])), "weight_decay": g["weight_decay"]} for g in reversed(groups)]
make = {"sgd": lambda: torch.optim.SGD(groups, 0.1, momentum=0.9), "adam": lambda: torch.optim.AdamW(groups, 0.01),
        "foreach": lambda: torch.optim.AdamW(groups, 0.01, foreach=True),
        "fused": lambda: torch.optim.AdamW(groups, 0.01, fused=True), "rms": lambda: torch.optim.RMSprop(groups, 0.01)}
opt = make[name]()
for step in range(3):
    opt.zero_grad()
    net(torch.randn(4, 6)).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print(sum(p.double().sum() for p in net.parameters()).item())
