import opdump, sys, torch
w = torch.empty(3, 2)
for step in range(4):
    torch.manual_seed(step + (len(sys.argv) if step == 2 else 0))
    w.normal_()
    print((torch.ones(1, 2) @ w.t()).sum())   # every step takes the view, and only the first one lists it
    w.fill_(1)
    opdump.step()
