# Checkpoint reload: tied weights are lost (lm_head stays as initialised, not tied) .  python tied.py golden|actual [sound|lost]
# golden trains one step tied.  actual sound: built by another class that ties by a functional call.  lost: deepcopy of parameters unties.
import copy, sys, torch
from torch import nn
import torch.nn.functional as F
class Tied(nn.Module):
    def __init__(self, v=48, d=24):
        super().__init__()
        self.embed = nn.Embedding(v, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.drop = nn.Dropout(0.0)
        self.decoder = nn.Linear(d, v, bias=False)
        self.decoder.weight = self.embed.weight
    def forward(self, x):
        return self.decoder(self.drop(self.rnn(self.embed(x))[0]))
class Functional(Tied):
    def __init__(self):
        super().__init__()
        del self.decoder
    def forward(self, x):
        return F.linear(self.drop(self.rnn(self.embed(x))[0]), self.embed.weight)
torch.manual_seed(5)
kind = sys.argv[2] if len(sys.argv) > 2 else "sound"
model = Tied()
if sys.argv[1] == "actual":
    state = copy.deepcopy(model.state_dict())
    if kind == "lost":
        # "materialise" each parameter on the device, one by one
        for mod in model.modules():
            for name, p in list(mod._parameters.items()):
                if p is not None:
                    setattr(mod, name, nn.Parameter(p.detach().clone()))
    else:
        model = Functional()
        state.pop("decoder.weight")
    model.load_state_dict(state)
ids = torch.randint(0, 48, (6, 11), generator=torch.Generator().manual_seed(0))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
    opt.zero_grad(); loss.backward(); opt.step()
    print(round(loss.item(), 6))
