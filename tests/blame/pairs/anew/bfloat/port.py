import sys, torch
kind,fault="bf16",len(sys.argv)>1
W=torch.load("init.pt"); P=[W[k].clone().requires_grad_() for k in W]
def ln(x,w,b):
    m=x.mean(1,keepdim=True); v=((x-m)**2).mean(1,keepdim=True)
    return (x-m)/torch.sqrt(v+(1e-3 if fault and kind=="bf16" else 1e-5))*w+b
M=[torch.zeros_like(p) for p in P]; V=[torch.zeros_like(p) for p in P]
E=[p.detach().clone() for p in P] if kind=="ema" and not fault else None
r=torch.Generator().manual_seed(1)
for t in range(1,5):
    x,y=torch.randn(16,12,generator=r),torch.randint(0,5,(16,),generator=r)
    if kind=="bf16": x=x.bfloat16()
    h=ln(x@P[0].t()+P[1],P[2],P[3]).clamp(min=0)
    h=ln(h@P[4].t()+P[5],P[6],P[7]).clamp(min=0)
    z=(h@P[8].t()+P[9]).float()
    L=(torch.logsumexp(z,1)-z[torch.arange(16),y]).mean()
    G=torch.autograd.grad(L,P)
    with torch.no_grad():
        for i,(p,g) in enumerate(zip(P,G)):
            p.mul_(1-3e-3*0.05)
            M[i]=0.9*M[i]+0.1*g; V[i]=0.999*V[i]+0.001*g*g
            p.sub_(3e-3*(M[i]/(1-0.9**t))/((V[i]/(1-0.999**t)).sqrt()+(1e-4 if fault and kind=="foreach" else 1e-8)))
            if E: E[i]=0.9*E[i]+0.1*p
    print(L.item())
