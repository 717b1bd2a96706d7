# A backbone that is wrapped inside of a model, with heads around it.
import sys, torch
wrapped, bug = "wrap" in sys.argv, "bug" in sys.argv
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self, d):
        super().__init__(); self.q = torch.nn.Linear(d, d); self.norm = torch.nn.LayerNorm(d)
    def forward(self, x): return x + self.norm(self.q(x)).tanh()
class Backbone(torch.nn.Module):
    def __init__(self): super().__init__(); self.blocks = torch.nn.ModuleList(Block(8) for _ in range(3))
    def forward(self, x):
        for block in self.blocks: x = block(x)
        return x * (1.01 if bug else 1)
class Adapter(torch.nn.Module):
    def __init__(self, model): super().__init__(); self.base_model = model
    def forward(self, *args): return self.base_model(*args)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.embed = torch.nn.Embedding(10, 8); self.backbone = Backbone(); self.q = torch.nn.Linear(8, 10)
        if wrapped: self.backbone = Adapter(Adapter(self.backbone))
    def forward(self, i): return self.q(self.backbone(self.embed(i)))
net = Model()
loss = net(torch.arange(6)).logsumexp(-1).mean()
loss.backward()
print(loss.item())
