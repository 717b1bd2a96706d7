#!/usr/bin/env python3
"""What does `opdump blame` cost?

Records one training step of a ResNet-18 (pictures of 64 by 64) with a wrong epsilon in one normalisation, and with other
kernels, and prints the time of `opdump compare` and of `opdump blame`, as a ratio to the plain program: starting Python, importing
torch and training that step.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import subprocess
import tempfile
import time

PROGRAM = """
import sys, torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self, inside, out, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inside, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.shortcut(x))

network = nn.Sequential(
    nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Block(64, 64, 1), Block(64, 64, 1),
    Block(64, 128, 2), Block(128, 128, 1), Block(128, 256, 2), Block(256, 256, 1), Block(256, 512, 2), Block(512, 512, 1),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
network[7].norm1.eps = float(sys.argv[1])
optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
batch = int(sys.argv[2])
loss = F.cross_entropy(network(torch.randn(batch, 3, 64, 64)), torch.arange(batch) % 10)
loss.backward()
optimizer.step()
"""


def measure(command: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
    """Wall time, processor time, and the first line that it prints."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stderr}")
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, (done.stdout.splitlines() or [""])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of the build")
    parser.add_argument("--python", default="/usr/bin/python3", help="the Python with torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", default="8", help="pictures of a step; each makes 20 MB of tensors (default: 8)")
    given = parser.parse_args()
    opdump, plain = str(given.build.resolve() / "bin/opdump"), dict(os.environ)
    others = {**plain, "ATEN_CPU_CAPABILITY": "default"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
        train = [given.python, str(folder / "train.py")]
        for run, epsilon, environment in (("golden", "1e-5", plain), ("epsilon", "1e-3", plain), ("kernels", "1e-5", others)):
            measure([opdump, "run", "-o", str(folder / run), "--", *train, epsilon, given.batch], environment)
        print("pair     command   wall   processor   ratio of wall, of processor to the program   answer")
        for pair in ("epsilon", "kernels"):
            dumps = [str(folder / "golden"), str(folder / pair)]
            commands = {"program": [*train, "1e-5", given.batch], "compare": [opdump, "compare", *dumps],
                        "blame": [opdump, "blame", *dumps, "--python", given.python]}
            best: dict[str, tuple[float, float, str]] = {}
            for _ in range(given.rounds):
                for key, command in commands.items():
                    best[key] = min(best.get(key, (float("inf"), 0.0, "")), measure(command, plain))
            for key, (wall, processor, line) in best.items():
                print(f"{pair:8} {key:8} {wall:6.2f} s {processor:6.2f} s   {wall / best['program'][0]:5.2f} "
                      f"{processor / best['program'][1]:5.2f}   {line[:90] if key == 'blame' else ''}")


if __name__ == "__main__":
    main()
