# A model in bfloat16 whose result is cast and copied, under torch.inference_mode() or torch.no_grad().
import sys, torch
torch.manual_seed(0)
mode = torch.inference_mode if sys.argv[1] == "inf" else torch.no_grad
bug = "bug" in sys.argv
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4, eps=1e-2 if bug else 1e-5), torch.nn.Linear(4, 2)).to(torch.bfloat16)
with mode():
    x = torch.randn(3, 4).to(torch.bfloat16)
    y = net(x).float()
    z = (y * 2).t().contiguous()[0:1].float().double().to(torch.float32)
    print(z.sum() + y.numpy().sum())
