#!/usr/bin/env python3
"""What does `opdump blame` cost?

Records one training step of a transformer: as it is (golden), with another epsilon in one normalisation, with another weight, and with
one thread. Prints the wall time and the processor time of `opdump compare` and `opdump blame` of each pair, with the files in memory
and with files that are read from the disk, and the ratio of blame to compare. torch is in memory: the program has just used it.
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
import sys, torch
from torch import nn
torch.manual_seed(0)
change, layers, batch, width, tokens = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 512, 512

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (t.view(batch, tokens, 8, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = (torch.softmax(q @ k.transpose(2, 3) / 8, -1) @ v).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.out(y)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

embedding, blocks, head = nn.Embedding(8000, width), nn.Sequential(*[Block() for _ in range(layers)]), nn.Linear(width, 8000)
net = nn.Sequential(embedding, blocks, nn.LayerNorm(width), head)
ids = torch.randint(0, 8000, (batch, tokens))
if change == "epsilon":
    blocks[1].norm2.eps = 1e-2
if change == "weight":
    blocks[1].up.weight.detach().numpy()[3, 5] += 0.5
if change == "threads":
    torch.set_num_threads(1)
optimizer = torch.optim.AdamW(net.parameters(), 1e-3, foreach=False)
nn.functional.cross_entropy(net(ids).view(-1, 8000), ids.view(-1)).backward()
optimizer.step()
"""


def drop(folder: pathlib.Path) -> None:
    """Its files are read from the disk next time."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def measure(command: list[str]) -> tuple[float, float, str]:
    """Wall time, processor time, and the last line that it prints."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stderr}")
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, (done.stdout.splitlines() or [""])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of the build")
    parser.add_argument("--python", default="/usr/bin/python3", help="the Python with torch")
    parser.add_argument("--dir", help="where the dumps lie (default: the temporary folder)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", default="8")
    parser.add_argument("--batch", default="4", help="sequences of 512 tokens; with 8 layers, each makes 1.5 GiB of files (default: 4)")
    given = parser.parse_args()
    opdump = str(given.build.resolve() / "bin/opdump")
    with tempfile.TemporaryDirectory(dir=given.dir) as name:
        folder = pathlib.Path(name)
        (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
        changes = ("none", "epsilon", "weight", "threads")
        for change in changes:
            measure([opdump, "run", "-o", str(folder / change), "--", given.python, str(folder / "train.py"), change, given.layers, given.batch])
        size = sum({info.st_ino: info.st_size for info in map(os.stat, (folder / "none").rglob("*.npy"))}.values())
        print(f"files of one run: {size / 2**30:.1f} GiB\npair     files      compare             blame               ratio of wall, of processor")
        for change in changes[1:]:
            pair = [str(folder / "none"), str(folder / change)]
            commands = {"compare": [opdump, "compare", *pair], "blame": [opdump, "blame", *pair, "--python", given.python]}
            for files in ("in memory", "on disk"):
                best = {verb: (float("inf"), 0.0, "") for verb in commands}
                for _ in range(given.rounds):
                    for verb, command in commands.items():
                        measure([given.python, "-c", "import torch"])
                        if files == "on disk":
                            drop(folder)
                        best[verb] = min(best[verb], measure(command))
                (wall, processor, _), (blame_wall, blame_processor, line) = best["compare"], best["blame"]
                print(f"{change:8} {files:9} {wall:7.2f} s {processor:6.2f} s {blame_wall:7.2f} s {blame_processor:6.2f} s "
                      f"{blame_wall / wall:8.2f} {blame_processor / processor:6.2f}   {line[:80]}", flush=True)


if __name__ == "__main__":
    main()
