"""Does training go on as if nothing had happened after a restart? (CNN, AdamW, cosine schedule, dropout, EMA)"""
import copy, io, random, sys
import torch
from torch import nn

TOTAL, STOP_AT = 4, 2


class ConvNet(nn.Module):
    def __init__(self, width=8, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.SiLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.SiLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(2 * width, classes)

    def forward(self, x):
        return self.fc(self.drop(self.features(x)))


class EMA:
    def __init__(self, model, decay=0.9):
        self.module, self.decay = copy.deepcopy(model).eval(), decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.state_dict().values(), model.state_dict().values()):
            if e.dtype.is_floating_point:
                e.mul_(self.decay).add_(p, alpha=1 - self.decay)
            else:
                e.copy_(p)


class Session:
    def __init__(self):
        self.model = ConvNet()
        self.ema = EMA(self.model)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.05)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, TOTAL)
        self.step = 0

    def state(self):
        return {"model": self.model.state_dict(), "ema": self.ema.module.state_dict(), "opt": self.opt.state_dict(),
                "sched": self.sched.state_dict(), "step": self.step, "rng": torch.get_rng_state()}

    def load(self, s):
        self.model.load_state_dict(s["model"])
        self.ema.module.load_state_dict(s["ema"])
        self.opt.load_state_dict(s["opt"])
        self.sched.load_state_dict(s["sched"])
        self.step = s["step"]
        torch.set_rng_state(s["rng"])

    def train_until(self, end, data):
        self.model.train()
        while self.step < end:
            x, y = data[self.step]
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            self.sched.step()
            self.ema.update(self.model)
            self.step += 1
            print(f"step {self.step} loss {loss.item():.6f}")


def dataset():
    g = torch.Generator().manual_seed(5)
    return [(torch.randn(6, 3, 8, 8, generator=g), torch.randint(0, 4, (6,), generator=g)) for _ in range(TOTAL)]


data = dataset()
torch.manual_seed(17)
sess = Session()
if sys.argv[1:] == ["actual"]:
    sess.train_until(STOP_AT, data)
    buf = io.BytesIO()
    torch.save(sess.state(), buf)
    del sess
    torch.manual_seed(random.randrange(1000))
    sess = Session()
    buf.seek(0)
    sess.load(torch.load(buf))
sess.train_until(TOTAL, data)
with torch.no_grad():
    out = sess.ema.module(data[0][0])
print("RESULT", out.double().sum().item(), out.double().abs().sum().item(), sum(p.detach().double().abs().sum().item() for p in sess.model.parameters()))
