import sys, torch, torch.nn as nn, torch.nn.functional as F
kind="bf16"
torch.manual_seed(0)
net=nn.Sequential(nn.Linear(12,24),nn.LayerNorm(24),nn.ReLU(),nn.Linear(24,24),nn.LayerNorm(24),nn.ReLU(),nn.Linear(24,5))
if kind=="bf16": net=net.bfloat16()
torch.save(net.state_dict(),"init.pt")
opt=torch.optim.AdamW(net.parameters(),lr=3e-3,weight_decay=0.05,foreach=kind=="foreach")
ema={k:v.clone() for k,v in net.state_dict().items()} if kind=="ema" else None
g=torch.Generator().manual_seed(1)
for s in range(4):
    x,y=torch.randn(16,12,generator=g),torch.randint(0,5,(16,),generator=g)
    if kind=="bf16": x=x.bfloat16()
    loss=F.cross_entropy(net(x).float(),y); opt.zero_grad(); loss.backward(); opt.step()
    if ema:
        for k,v in net.state_dict().items(): ema[k].mul_(0.9).add_(v,alpha=0.1)
    print(loss.item())
