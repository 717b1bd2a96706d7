"""Trainings of a few steps on an accelerator, for tools/accelerator/check.py. Prints the loss of each step, to the last bit.

Usage: programs.py NAME [--device cuda|cpu] [--fault epsilon|mask] [--tf32] [--steps N] [--copies FILE] [--seconds]

--copies FILE: hooks copy what the modules return in step 0 there, which is what opdump is compared with. --seconds: prints the median
time of a step instead of losses; the first steps do not count.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # the same results in each run

import torch
from torch import nn


class Cnn(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.norm = nn.BatchNorm2d(32, eps=1e-3 if fault == "epsilon" else 1e-5)
        self.head = nn.Linear(32 * 8 * 8, 10)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.max_pool2d(torch.relu(self.norm(self.conv2(x))), 4)
        return self.head(x.flatten(1))


class Block(nn.Module):
    def __init__(self, width, heads, fault):
        super().__init__()
        self.heads, self.fault = heads, fault
        self.norm1 = nn.LayerNorm(width, eps=1e-2 if fault == "epsilon" else 1e-5)
        self.norm2 = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril(1 if self.fault == "mask" else 0)
        seen = nn.functional.scaled_dot_product_attention(*parts.unbind(0), attn_mask=mask)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, fault, width=256, heads=4, layers=4):
        super().__init__()
        self.embed = nn.Embedding(512, width)
        self.blocks = nn.ModuleList([Block(width, heads, fault if i == 1 else None) for i in range(layers)])
        self.head = nn.Linear(width, 512)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Training:
    """A network with what a step of it needs. Everything begins on the host, so that all devices get the same numbers."""

    def __init__(self, name, device, fault):
        torch.manual_seed(0)
        self.name, self.device = name, device
        self.is_images = name in ("cnn", "pinned", "streams", "graphed", "amp")
        net = Cnn(fault) if self.is_images else Transformer(fault)
        self.net = net.to(device, torch.bfloat16 if name.startswith("bf16") else torch.float32)
        if self.is_images:
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        else:
            how = {"fused": True} if name == "bf16_fused" else {"foreach": True}
            self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3, **how)
        self.call = torch.compile(self.net) if name == "compiled" else self.net
        self.scaler = torch.amp.GradScaler(device, enabled=device != "cpu")
        if name == "graphed" and device != "cpu":
            self.call = torch.cuda.make_graphed_callables(self.net, (self.batch(0)[0],))

    def batch(self, step):
        generator = torch.Generator().manual_seed(100 + step)
        if self.is_images:
            x, y = torch.randn(16, 3, 32, 32, generator=generator), torch.randint(10, (16,), generator=generator)
        else:
            x = torch.randint(512, (4, 65), generator=generator)
            x, y = x[:, :-1], x[:, 1:].reshape(-1)
        if self.name == "pinned" and self.device != "cpu":
            return x.pin_memory().to(self.device, non_blocking=True), y.pin_memory().to(self.device, non_blocking=True)
        return x.to(self.device), y.to(self.device)

    def loss(self, x, y):
        if self.name == "streams" and self.device != "cpu":
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                scaled = x * 0.5
            torch.cuda.current_stream().wait_stream(side)
            scaled.record_stream(torch.cuda.current_stream())
            x = scaled
        with torch.autocast(self.device, dtype=torch.bfloat16 if self.device == "cpu" else torch.float16, enabled=self.name == "amp"):
            return nn.functional.cross_entropy(self.call(x).flatten(0, -2).float(), y)

    def step(self, number):
        self.optimizer.zero_grad()
        loss = self.loss(*self.batch(number))
        if self.name == "amp":
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            self.optimizer.step()
        return loss.detach()


def copies_of(net, step):
    """What the modules returned in one step: (name, tensor on the host)."""
    found = []
    handles = [module.register_forward_hook(lambda _module, _inputs, output, name=name: found.append((name, output.detach().cpu().clone())))
               for name, module in net.named_modules() if name and not list(module.children())]
    step()
    for handle in handles:
        handle.remove()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--fault")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--copies")
    parser.add_argument("--seconds", action="store_true")
    args = parser.parse_args()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.tf32
    training = Training(args.name, args.device, args.fault)
    if args.copies:
        torch.save(copies_of(training.net, lambda: training.step(0)), args.copies)
        return
    times, losses = [], []
    for number in range(args.steps):
        begin = time.perf_counter()
        losses.append(training.step(number))
        if args.seconds:
            if args.device != "cpu":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    if args.seconds:
        print(statistics.median(times[len(times) // 3:]))
    else:
        print(" ".join(loss.double().item().hex() for loss in losses))


if __name__ == "__main__":
    main()
