#!/usr/bin/env python3
"""How small an error does `opdump blame` find?

Trains small networks (nets.py) under opdump and changes one recorded output: the whole tensor scaled by 1 + k u, with u the
unit roundoff of its type, or one element changed by a part of the tensor's root mean square (float32) or by k u of itself
(bfloat16). The dump with the change is ACTUAL, the same without it GOLDEN. Prints how often the first answer of `opdump blame`
is the operator, by size of the error, and how often that answer is "certain".
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

import numpy as np

from nets import NETS

HERE = pathlib.Path(__file__).parent
ROUNDOFF = {"float32": 2.0**-24, "bfloat16": 2.0**-8}


def to_type(x: np.ndarray, dtype: str) -> np.ndarray:
    """Rounded to nearest, ties to even."""
    if dtype == "float32":
        return x.astype(np.float32)
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def scaled(x: np.ndarray, k: float, u: float, draws: random.Random) -> np.ndarray:
    return x * (1 + k * u)


def element_of_spread(x: np.ndarray, size: float, u: float, draws: random.Random) -> np.ndarray:
    x = x.copy()
    x.reshape(-1)[draws.randrange(x.size)] += size * float(np.sqrt(np.mean(np.square(x))))
    return x


def element_of_itself(x: np.ndarray, k: float, u: float, draws: random.Random) -> np.ndarray:
    x = x.copy()
    places = np.flatnonzero(x.reshape(-1))
    x.reshape(-1)[places[draws.randrange(places.size)]] *= 1 + k * u
    return x


Change = Callable[[np.ndarray, float, float, random.Random], np.ndarray]
# (what, type, change, sizes, unit)
EXPERIMENTS: list[tuple[str, str, Change, tuple[float, ...], str]] = [
    ("whole tensor", "float32", scaled, (2, 4, 8, 16, 32), "u"),
    ("whole tensor", "bfloat16", scaled, (2, 4, 8, 16, 32), "u"),
    ("one element", "float32", element_of_spread, (1e-6, 1e-5, 1e-4, 1e-3), "of the root mean square"),
    ("one element", "bfloat16", element_of_itself, (2, 4, 8, 16), "u of the element"),
]


class Detection:
    def __init__(self, arguments: argparse.Namespace, root: pathlib.Path) -> None:
        self.a, self.root, self.opdump = arguments, root, f"{arguments.build}/bin/opdump"
        self.environment = {**os.environ, "PYTHONPATH": f"{arguments.build}/python", "OMP_NUM_THREADS": "1",
                            "OPDUMP_WARM": str(root / "warm")}
        self.server = subprocess.Popen([arguments.python, "-B", HERE / "warm.py", "--serve"], env=self.environment)
        while not (root / "warm").exists():
            if self.server.poll() is not None:
                raise SystemExit("the Python with torch ends")
            time.sleep(0.05)

    def record(self, net: str, dtype: str) -> str:
        out = str(self.root / f"{net}_{dtype}")
        job = {"net": net, "options": {"seed": self.a.seed, "steps": 1, "dtype": dtype}, "out": out}
        subprocess.run([sys.executable, "-B", HERE / "warm.py", HERE / "record.py", json.dumps(job)], env=self.environment,
                       capture_output=True, check=True)
        return out

    def outputs(self, dump: str, dtype: str) -> list[dict[str, Any]]:
        """First outputs of operators that compute, of at least eight elements."""
        from faults import KERNELS

        types = {name.partition(".")[0] for name in KERNELS} | {"add", "mul", "div", "sub", "convolution_backward"}
        run = subprocess.run([self.opdump, "ls", dump, "--json"], capture_output=True, text=True, check=True)
        found = []
        for line in run.stdout.splitlines():
            op = json.loads(line)
            slot = next((s for s in op.get("slots", []) if s["slot"] == "output.0"), None)
            if op.get("type") in types and slot and slot["dtype"] == dtype and "file" in slot and np.prod(slot["shape"]) >= 8:
                found.append({**op, "file": slot["file"]})
        return found

    def is_found(self, dump: str, op: dict[str, Any], change: Change, size: float, dtype: str, draws: random.Random) -> str:
        """"certain", "suspect", "" if the first answer is another one, "none" if the change is lost in rounding."""
        x = np.load(op["file"])
        wrong = to_type(change(x.astype(np.float64), size, ROUNDOFF[dtype], draws), dtype).astype(x.dtype)
        if np.array_equal(wrong, x) or not x.any():
            return "none"
        actual = str(self.root / "actual")
        subprocess.run(["rm", "-rf", actual], check=True)
        subprocess.run(["cp", "-al", dump, actual], check=True)
        file = actual + op["file"][len(dump):]
        os.unlink(file)  # a link to the file of the other dump
        np.save(file, wrong)
        done = subprocess.run([self.opdump, "blame", dump, actual, "--json", "--python", HERE / "warm.py"], capture_output=True,
                              text=True, env=self.environment)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{done.args}: {done.stderr}")
        findings = json.loads(done.stdout.splitlines()[-1])["findings"]
        return findings[0]["confidence"] if findings and findings[0]["operator"] == op["operator"] else ""

    def run(self) -> None:
        draws = random.Random(self.a.seed)
        print("| error | type | size | found | certain |\n|---|---|---|---|---|")
        for what, dtype, change, sizes, unit in EXPERIMENTS:
            # Torch 1.13 has no transposed convolution in bfloat16.
            nets = [net for net in self.a.nets.split(",") if (net, dtype) != ("unet", "bfloat16")]
            dumps = {net: self.record(net, dtype) if not (self.root / f"{net}_{dtype}").exists() else str(self.root / f"{net}_{dtype}")
                     for net in nets}
            chosen = []
            for net, dump in dumps.items():
                outputs = self.outputs(dump, dtype)
                chosen += [(dump, op) for op in draws.sample(outputs, min(len(outputs), -(-self.a.operators // len(nets))))]
            for size in sizes:
                answers = [self.is_found(dump, op, change, size, dtype, random.Random(f"{op['operator']}")) for dump, op in chosen]
                counted = [a for a in answers if a != "none"]
                print(f"| {what} | {dtype} | {size:g} {unit} | {sum(a != '' for a in counted)} of {len(counted)} | "
                      f"{sum(a == 'certain' for a in counted)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build directory of opdump")
    parser.add_argument("--dir", default="/dev/shm", help="for the dumps")
    parser.add_argument("--operators", type=int, default=16, help="for each kind of error")
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="one with the torch that opdump is built for")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory(dir=arguments.dir) as room:
        detection = Detection(arguments, pathlib.Path(room))
        try:
            detection.run()
        finally:
            detection.server.kill()
            detection.server.wait()


main()
