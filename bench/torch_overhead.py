#!/usr/bin/env python3
"""What recording costs a PyTorch training step, as a ratio to the same step without opdump in the same run.

Usage: bench/torch_overhead.py [--build build/release] [--model alexnet|transformer|tiny|both] [--rounds N] [--alternate]

Each round runs every variant once, in turn, in a process of its own, so that slow changes of the machine hit all of them alike; the
median step time of the best round counts.

On a machine that is busy with other work, --alternate measures better: one process records ten steps, leaves out ten, and so on. The
ratio is the median of those of neighbouring tens: of the wall time, and of the processor time of all threads.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def alexnet():
    """Krizhevsky's network in its one-tower form, batch 8."""
    import torch
    from torch import nn

    class AlexNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
                nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
                nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True),
                nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True),
                nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            )
            self.classifier = nn.Sequential(
                nn.Dropout(), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(inplace=True),
                nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 1000),
            )

        def forward(self, x):
            return self.classifier(self.features(x).flatten(1))

    return AlexNet(), torch.randn(8, 3, 224, 224), torch.randint(1000, (8,)), 7


def transformer():
    """Four encoder layers on short sequences: many small operators."""
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 4)
            self.head = nn.Linear(128, 10)

        def forward(self, x):
            return self.head(self.encoder(x).mean(1))

    return Classifier(), torch.randn(8, 32, 128), torch.randint(10, (8,)), 40


def tiny():
    """Two layers of eight: what is left is the cost of a step itself."""
    import torch
    from torch import nn

    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(4, 8), torch.randint(2, (4,)), 2000


def train(model_name, turns, note_step=lambda: None):
    """The wall and the processor time of each step; so many turns, each of as many steps as the model has."""
    import torch

    torch.manual_seed(0)
    model, x, y, steps = {"alexnet": alexnet, "transformer": transformer, "tiny": tiny}[model_name]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    times = []
    for _ in range(steps * turns):
        begin = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
        note_step()
    return times


# Of the steps with these numbers, ten are left out and ten recorded, in turn. The first of a ten are not measured: what ended
# before them is still being written.
TEN, SETTLING = 10, 2


def alternating_child(model_name):
    times = train(model_name, 16 if model_name == "alexnet" else 6)

    def median(first, clock):
        return statistics.median(step[clock] for step in times[first + SETTLING:first + TEN])

    for clock, name in enumerate(("wall", "processor")):
        ratios = [2 * median(first, clock) / (median(first - TEN, clock) + median(first + TEN, clock))
                  for first in range(3 * TEN, len(times) - 2 * TEN + 1, 2 * TEN)]
        print(f"{name} {statistics.median(ratios):.3f}x of {len(ratios)} pairs", end="   ")
    print()


def child(model_name):
    times = [wall for wall, _ in train(model_name, 1)]
    import resource

    print(json.dumps({"step": statistics.median(times[len(times) // 4:]), "total": sum(times),
                      "descriptors": len(os.listdir("/proc/self/fd")),
                      "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def config(directory, own=None, **settings):
    common = {"dump_mode": 0, "path": f"{directory}/dump", "net_name": "bench", "iteration": "all", "input_output": 0,
              "kernels": [], "support_device": [0], **settings}
    path = pathlib.Path(directory) / "data_dump.json"
    path.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}, "opdump_settings": own or {}}))
    return path


VARIANTS = {
    "plain": None,
    "idle": {"saved_data": "statistic", "iteration": "1000000"},
    "statistics": {"saved_data": "statistic"},
    "all statistics": {"saved_data": "statistic", "statistic_category": [
        "max", "min", "avg", "count", "negative zero count", "positive zero count", "nan count",
        "negative inf count", "positive inf count", "zero count", "l2norm"]},
    "fingerprints": {"saved_data": "statistic", "statistic_category": ["max", "min", "avg", "l2norm", "nan count", "hash:xxh128"],
                     "own": {"fingerprints": True}},
    "watch": {"saved_data": "statistic", "own": {"watch": 10}, "statistic_category": [
        "max", "min", "avg", "l2norm", "nan count", "negative inf count", "positive inf count", "zero count"]},
    "overflow": {"saved_data": "tensor", "op_debug_mode": 3},
    "tensors": {"saved_data": "tensor"},
}


def plain_environment():
    return {k: v for k, v in os.environ.items() if k not in ("MINDSPORE_DUMP_CONFIG", "OPDUMP_CONFIG")}


def recorded_environment(directory, build, **settings):
    return {**plain_environment(), "OPDUMP_CONFIG": str(config(directory, **settings)),
            "PYTHONPATH": f"{build}/python/opdump/inject:{build}/python"}


def tens():
    """The iterations of the second ten steps, the fourth, and so on."""
    return "|".join(f"{first}-{first + TEN - 1}" for first in range(TEN, 10000, 2 * TEN))


def run_child(arguments, settings, build):
    """The last line that it prints."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as directory:
        environment = plain_environment() if settings is None else recorded_environment(directory, build, **settings)
        run = subprocess.run([sys.executable, __file__, *arguments], env=environment, capture_output=True, text=True)
        shutil.rmtree(f"{directory}/dump", ignore_errors=True)
        if run.returncode:
            sys.exit(run.stderr)
        return run.stdout.splitlines()[-1]


def measure_alternating(model, variant, build):
    line = run_child(["--child", model, "--alternate"], {**VARIANTS[variant], "iteration": tens()}, build)
    print(f"{model:12} {variant:16} {line}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--model", default="both", choices=["alexnet", "transformer", "tiny", "both"])
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alternate", action="store_true", help="record ten steps, leave out ten, in one process")
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.child:
        return alternating_child(args.child) if args.alternate else child(args.child)
    models = ["alexnet", "transformer"] if args.model == "both" else [args.model]
    if args.alternate:
        for model in models:
            for variant in [v for v in args.variants if v not in ("plain", "idle")] * args.rounds:
                measure_alternating(model, variant, args.build.resolve())
        return
    for model in models:
        best = {}
        for _ in range(args.rounds):
            for variant in args.variants:
                result = json.loads(run_child(["--child", model], VARIANTS[variant], args.build.resolve()))
                if variant not in best or result["step"] < best[variant]["step"]:
                    best[variant] = result
        for variant, result in best.items():
            ratio = result["step"] / best[args.variants[0]]["step"]
            print(f"{model:12} {variant:16} {result['step'] * 1e3:9.2f} ms/step  {ratio:6.3f}x  "
                  f"memory +{(result['rss'] - best[args.variants[0]]['rss']) / 2**20:.0f} MiB  "
                  f"descriptors +{result['descriptors'] - best[args.variants[0]]['descriptors']}", flush=True)


if __name__ == "__main__":
    main()
