#!/usr/bin/env python3
"""Are operators of PyTorch paired with those of their ONNX export? Networks of bench/cross/, both exporters.

Usage: bench/cross_framework.py [--build build/release] [--python PYTHON] [--networks resnet18 ...] [--keep DIRECTORY]

PYTHON is one with torch, torchvision and onnxscript; default: that of tools/fetch_torch.sh.

The truth comes from values, not from names: an operator of the export is *comparable* if PyTorch has an operator that
computes the same tensor, up to the order of its elements, and a pair is *right* if its two operators do. Each export is
compared with an equal run, and with one where the weights of a module in the middle were multiplied by 1.5: what follows
has other values, and the pairs must be those of the equal run. Exit status 1 if a pair is wrong without being marked as
uncertain (a confidence below 0.75), or if less than 95 % of the comparable operators are paired. `encoder`, which is not run by
default, has one operator of PyTorch for each layer, and the export some twenty.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench/cross"
FAULTS = {"resnet18": "layer2.0.conv1", "encoder": "layers.layers.1.linear1", "transformer": "blocks.1.query", "lstm": "embedding",
          "unet": "down2.0"}
CERTAIN = 0.75
# What only moves data or makes constants computes nothing.
IDLE = {"constant", "constantofshape", "shape", "range", "identity", "transpose", "reshape", "squeeze", "unsqueeze", "flatten",
        "expand", "slice", "split", "cast", "clone", "_to_copy", "t", "view", "_unsafe_view", "permute", "select", "zeros", "arange",
        "copy_", "contiguous", "detach", "uniform_", "normal_", "randn", "randint", "zero_", "ones", "fill_", "lift_fresh"}


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def record(args, name, folder):
    opdump, program = args.build / "bin/opdump", FOLDER / "export.py"
    call(args.python, program, "export", name, folder / "models")
    call(opdump, "run", "-o", folder / "torch", "--", args.python, program, "run", name)
    call(opdump, "run", "-o", folder / "changed", "--", args.python, program, "run", name, FAULTS[name])
    for kind in ("script", "dynamo"):
        call(opdump, "run", "-o", folder / kind, folder / f"models/{kind}.onnx", "--input", f"data={folder}/models/data.npy")


def results(opdump, path):
    """The sorted elements of every output of an operator that computes something."""
    found = {}
    for op in opdump.open(str(path)).operators:
        if op.type.lower() in IDLE:
            continue
        tensors = []
        for slot in op.outputs:
            if slot.file is None:
                continue
            values = np.sort(np.asarray(slot.numpy(), "f8"), axis=None)
            if values.size > 3 and values[0] != values[-1]:
                tensors.append(values)
        if tensors:
            found[op.name] = tensors
    return found


def same(ours, theirs):
    scale = np.linalg.norm(ours)
    return ours.size == theirs.size and np.linalg.norm(ours - theirs) <= 1e-4 * scale


def compare(args, golden, actual):
    """Pairs by the name of ACTUAL's operator: (GOLDEN's, confidence, method)."""
    done = subprocess.run([args.build / "bin/opdump", "compare", golden, actual, "--json", "--all"], capture_output=True, text=True)
    pairs = {}
    for line in done.stdout.splitlines():
        slot = json.loads(line)
        if slot["record"] == "slot" and "paired_by" in slot and "confidence" in slot:
            pairs[slot.get("actual_operator", slot["operator"])] = (slot["operator"], slot["confidence"], slot["paired_by"])
    return pairs, json.loads(done.stdout.splitlines()[-1])


def judge(truth, pairs):
    paired = [name for name in truth if name in pairs]
    wrong = [name for name in paired if pairs[name][0] not in truth[name]]
    unflagged = [name for name in wrong if pairs[name][1] >= CERTAIN]
    return len(paired), wrong, unflagged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), default=ROOT / "build/release")
    parser.add_argument("--python", default=None)
    parser.add_argument("--networks", nargs="+", default=[name for name in FAULTS if name != "encoder"], choices=list(FAULTS))
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="name the operators that are not paired or paired wrongly")
    args = parser.parse_args()
    args.python = args.python or subprocess.run([ROOT / "tools/fetch_torch.sh", "--where"], capture_output=True, text=True).stdout.strip()
    sys.path.insert(0, str(args.build / "python"))
    import opdump

    is_good = True
    print(f"{'network':12} {'export':7} {'run':8} {'comparable':>10} {'paired':>7} {'right':>6} {'wrong':>6} {'unmarked':>9}  methods")
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.networks:
            folder = (args.keep or pathlib.Path(temporary)).resolve() / name
            if not (folder / "dynamo").exists():
                record(args, name, folder)
            golden = results(opdump, folder / "torch")
            for kind in ("script", "dynamo"):
                actual = results(opdump, folder / kind)
                truth = {}
                for op, tensors in actual.items():
                    equal = {g for g, theirs in golden.items() if any(same(t, u) for t in tensors[:1] for u in theirs[:1])}
                    if equal:
                        truth[op] = equal
                for run in ("torch", "changed"):
                    pairs, summary = compare(args, folder / run, folder / kind)
                    paired, wrong, unmarked = judge(truth, pairs)
                    methods = {}
                    for _, _, method in pairs.values():
                        methods[method] = methods.get(method, 0) + 1
                    is_good &= not unmarked and paired >= 0.95 * len(truth)
                    print(f"{name:12} {kind:7} {'equal' if run == 'torch' else 'changed':8} {len(truth):10} {paired:7} "
                          f"{paired - len(wrong):6} {len(wrong):6} {len(unmarked):9}  "
                          + ", ".join(f"{count} {method}" for method, count in sorted(methods.items())), flush=True)
                    if args.verbose:
                        for op in [op for op in truth if op not in pairs]:
                            print(f"    not paired: {op}; equal: {sorted(truth[op])}")
                        for op in wrong:
                            print(f"    wrong: {op} with {pairs[op]}; equal: {sorted(truth[op])}")
                        print("   ", summary["text"])
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
