"""What opdump promises on an accelerator, tried: see tools/check_accelerator.sh, which prepares this.

Usage: check.py OPDUMP [--device cuda|cpu] [--only NAMES] [--out FOLDER]

Prints a line for each check, and the overheads as ratios; exits with 1 if a check failed. With --device cpu what needs no
accelerator runs.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = str(HERE / "programs.py")
NETWORKS = ("cnn", "bf16_foreach", "bf16_fused", "compiled", "graphed", "amp", "streams", "pinned")
ACCELERATOR_ONLY = ("graphed", "streams", "pinned")


class Check:
    def __init__(self, opdump, device, folder):
        self.opdump, self.device, self.folder = opdump, device, folder
        self.failed = 0

    def run(self, *words, **more):
        return subprocess.run([str(word) for word in words], cwd=self.folder, capture_output=True, text=True, timeout=1200, check=False, **more)

    def say(self, what, is_right, detail=""):
        self.failed += not is_right
        print(f"{'ok    ' if is_right else 'FAILED'} {what}{': ' + detail if detail else ''}", flush=True)

    def program(self, name, *options, device=None):
        return [sys.executable, PROGRAMS, name, "--device", device or self.device, *options]

    def record(self, into, name, *options, device=None, steps="0-1", content=()):
        """The finished process."""
        shutil.rmtree(self.folder / into, ignore_errors=True)
        return self.run(self.opdump, "run", "-o", into, "--steps", steps, *content, "--", *self.program(name, *options, device=device))

    def last_line(self, done):
        lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
        return lines[-1] if lines else f"status {done.returncode}"

    # ---- What each network is tried for.

    def transparency(self, name):
        plain = self.run(*self.program(name))
        recorded = self.record(name, name)
        self.say(f"{name}: the same losses with and without opdump", plain.returncode == recorded.returncode == 0 and plain.stdout == recorded.stdout,
                 "" if plain.stdout == recorded.stdout and plain.returncode == 0 else (plain.stderr + recorded.stderr)[-1500:])

    def values(self, name):
        """What is recorded is what hooks that copy see."""
        import torch

        copied = self.run(*self.program(name, "--copies", "copies.pt"))
        if copied.returncode:
            return self.say(f"{name}: values of hooks", False, copied.stderr[-1500:])
        script = ("import sys, numpy, opdump\n"
                  "for op in opdump.open(sys.argv[1]):\n"
                  "    for slot in op.outputs if op.step == 0 and op.phase == 'forward' else ():\n"
                  "        if not slot.reason:\n"
                  "            print(op.name, numpy.ascontiguousarray(slot.numpy(), dtype='float32').tobytes().hex() if slot.numpy().size < 4e6 else '')\n")
        listed = self.run(sys.executable, "-c", script, name)
        known = {}
        for line in listed.stdout.splitlines():
            operator, _, content = line.partition(" ")
            known.setdefault(content, []).append(operator)
        missing = [module for module, tensor in torch.load(self.folder / "copies.pt")
                   if tensor.float().contiguous().numpy().tobytes().hex() not in known]
        self.say(f"{name}: recorded values are those of hooks, bit by bit", listed.returncode == 0 and not missing,
                 listed.stderr[-1000:] or ", ".join(missing))

    def repeats(self, name):
        self.record(f"{name}2", name)
        done = self.run(self.opdump, "compare", name, f"{name}2")
        self.say(f"{name}: two recordings are equal", done.returncode == 0, self.last_line(done))

    def across_devices(self, name):
        self.record(f"{name}_cpu", name, device="cpu")
        done = self.run(self.opdump, "compare", f"{name}_cpu", name)
        self.say(f"{name}: no alarm between the CPU and the accelerator", done.returncode == 0, self.last_line(done))

    def tf32(self, name):
        self.record(f"{name}_tf32", name, "--tf32")
        done = self.run(self.opdump, "blame", name, f"{name}_tf32", "--json")
        self.say(f"{name}: TF32 is rounding", done.returncode == 0, self.last_line(done)[-300:])

    def fault(self, name, fault, named):
        self.record(f"{name}_{fault}", name, "--fault", fault)
        done = self.run(self.opdump, "compare", name, f"{name}_{fault}")
        line = self.last_line(done)
        self.say(f"{name}: a planted {fault} is named", done.returncode == 1 and named in line, line)

    def overheads(self, name):
        steps, rounds = 40, 3
        variants = {"plain": None, "idle": ("--steps", "100000"), "statistics": ("--stats", "--steps", "all"), "tensors": ("--steps", "all", "--budget", "free")}
        best = {}
        for _ in range(rounds):
            for variant, options in variants.items():
                shutil.rmtree(self.folder / "cost", ignore_errors=True)
                launcher = [] if options is None else [self.opdump, "run", "-o", "cost", *options, "--"]
                done = self.run(*launcher, *self.program(name, "--seconds", "--steps", str(steps)))
                if done.returncode:
                    return self.say(f"{name}: {variant}", False, done.stderr[-1000:])
                best[variant] = min(best.get(variant, 1e9), float(done.stdout))
        ratios = ", ".join(f"{variant} {best[variant] / best['plain']:.2f}" for variant in variants if variant != "plain")
        print(f"       {name}: a step of {best['plain'] * 1e3:.2f} ms takes, as a ratio: {ratios}", flush=True)

    def sanitizer(self):
        program = shutil.which("compute-sanitizer")
        if program is None:
            print("       no compute-sanitizer here", flush=True)
            return
        shutil.rmtree(self.folder / "sanitized", ignore_errors=True)
        done = self.run(self.opdump, "run", "-o", "sanitized", "--", program, "--error-exitcode", "9", *self.program("cnn", "--steps", "1"))
        self.say("cnn: compute-sanitizer finds nothing", done.returncode == 0, self.last_line(done))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opdump", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="networks, separated by commas")
    parser.add_argument("--fast", action="store_true", help="without the overheads")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    begin = time.monotonic()
    folder = args.out or pathlib.Path(tempfile.mkdtemp(prefix="check_accelerator-"))
    folder.mkdir(parents=True, exist_ok=True)
    check = Check(args.opdump.resolve(), args.device, folder)
    is_here = args.device != "cpu"
    for name in args.only.split(",") if args.only else NETWORKS:
        if name in ACCELERATOR_ONLY and not is_here:
            continue
        check.transparency(name)
        if name not in ("compiled", "graphed"):  # no operator of theirs runs one by one
            check.values(name)
        check.repeats(name)
        if is_here and name in ("cnn", "bf16_foreach", "amp"):
            check.across_devices(name)
        if name == "cnn":
            check.fault(name, "epsilon", "eps is 1e-05 in golden and 0.001 in actual")
            if is_here:
                check.tf32(name)
        if name == "bf16_foreach":
            check.fault(name, "mask", "blocks-ModuleList/1-Block/")
    if not args.fast:
        for name in ("cnn", "bf16_foreach"):
            check.overheads(name)
    if is_here:
        check.sanitizer()
    print(f"{check.failed} failed, {time.monotonic() - begin:.0f} s, in {folder}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
